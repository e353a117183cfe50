//! Tools of this crate's tests: small real jobs, their plain answers, and a scripted coordinator
//! that plays the other end of one or several workers' links.

use crate::compute::{Compute, Loader};
use crate::config::{Config, Source};
use crate::devices::Devices;
use crate::gauges::Gauges;
use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_proto::client::ClientError;
use antipode_proto::convert::to_worker_parts;
use antipode_proto::link::CoordinatorLink;
use antipode_proto::message::{
    ArtifactKind, ArtifactName, Ended, FromWorker, Held, Holder, Input, ToWorker,
};
use antipode_proto::wire;
use antipode_proto::wire::coordinator_server::{Coordinator, CoordinatorServer};
use antipode_solver_core::Perm;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::engine::{Digest, Engine, KernelChoice, Level, Seen, ShardId};
use antipode_solver_core::job::{BfsSpec, JobDefinition, Keep, Task, TaskOutput};
use antipode_solver_core::puzzle::{Generator, Metric, Puzzle};
use antipode_solver_core::space::{self, LayoutOptions};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

/// Nothing in these tests takes longer unless it hangs.
pub const LONG: Duration = Duration::from_secs(60);
pub const JOB: JobId = JobId(7);

/// LRX (or, directed, LX) on `n` labels: shift left, shift right, swap the first two.
pub fn definition(n: u16, directed: bool) -> Arc<JobDefinition> {
    let left: Vec<u16> = (0..n).map(|i| (i + 1) % n).collect();
    let left = Perm::from_images(&left).unwrap();
    let swap = Perm::from_cycles(usize::from(n), &[vec![0, 1]]).unwrap();
    let mut generators = vec![("L", left.clone()), ("X", swap)];
    if !directed {
        generators.push(("R", left.inverse()));
    }
    let generators = generators
        .into_iter()
        .map(|(name, perm)| Generator {
            name: name.into(),
            perm,
        })
        .collect();
    let puzzle = Puzzle::new(
        "test".into(),
        generators,
        vec![],
        Metric::Generators,
        vec![],
    )
    .unwrap();
    let layout = LayoutOptions {
        min_shards: Some(4),
        max_leaf: Some(24),
        max_superblock: Some(120),
        ..LayoutOptions::default()
    };
    let space = space::build(&puzzle, &layout).unwrap();
    assert!(space.shards >= 4, "{} shards", space.shards);
    let spec = BfsSpec {
        puzzle,
        depth: None,
        antipodes: 0,
        keep: Keep::Result,
        layout,
    };
    Arc::new(JobDefinition {
        spec: spec.into(),
        space,
        fingerprint: format!("lrx-{n}-{directed}"),
    })
}

pub fn engine(definition: &JobDefinition) -> Arc<Engine> {
    Arc::new(
        Engine::load(
            definition.spec.puzzle().expect("a graph"),
            &definition.space,
            KernelChoice::Auto,
        )
        .unwrap(),
    )
}

pub fn loader() -> Loader {
    Arc::new(|definition, _| {
        let engine = Engine::load(
            definition.spec.puzzle().expect("a graph"),
            &definition.space,
            KernelChoice::Auto,
        )?;
        Ok(Arc::new(engine) as Arc<dyn Compute>)
    })
}

pub fn frontier_name(level: Level, shard: u32) -> ArtifactName {
    ArtifactName {
        job: JOB,
        level,
        shard: ShardId(shard),
        kind: ArtifactKind::Frontier,
    }
}

/// Count and digest of every shard of every level from 1 on, by the plain loop.
pub fn plain_answer(definition: &JobDefinition) -> Vec<Vec<(u64, Digest)>> {
    let engine = engine(definition);
    let shards: Vec<ShardId> = (0..engine.shards()).map(ShardId).collect();
    let mut now: Vec<Frontier> = shards.iter().map(|&s| engine.roots(s)).collect();
    let empty = |s: &ShardId| Frontier::empty(engine.geometry(*s));
    let mut before: Vec<Frontier> = if engine.is_directed() {
        now.clone()
    } else {
        shards.iter().map(empty).collect()
    };
    let mut levels = Vec::new();
    loop {
        let mut next = Vec::new();
        let mut visited = Vec::new();
        let mut level = Vec::new();
        for (&shard, seen) in shards.iter().zip(before) {
            let sources: Vec<_> = engine
                .sources(shard)
                .into_iter()
                .map(|s| (s, &now[s.0 as usize]))
                .collect();
            let seen = if engine.is_directed() {
                Seen::Visited(seen)
            } else {
                Seen::Previous(seen)
            };
            let number = levels.len() as Level + 1;
            let out = engine
                .expand(number, shard, &sources, &now[shard.0 as usize], seen, 0)
                .unwrap();
            level.push((out.frontier.count(), out.digest));
            next.push(out.frontier);
            visited.extend(out.visited);
        }
        before = if engine.is_directed() {
            visited
        } else {
            std::mem::take(&mut now)
        };
        now = next;
        if level.iter().all(|(count, _)| *count == 0) {
            return levels;
        }
        levels.push(level);
    }
}

pub fn config(data: &Path, coordinator: Source) -> Config {
    Config {
        data: data.into(),
        name: "tester".into(),
        threads: 1,
        memory_bytes: 1 << 30,
        listen: None,
        advertise: None,
        insecure: false,
        kernel: KernelChoice::Auto,
        devices: Devices::default(),
        patience: Some(LONG),
        grace: LONG,
        disk_reserve: Some(0),
        coordinator,
        gauges: Arc::new(Gauges::default()),
    }
}

/// A small file system of its own, in memory.
pub struct SmallDisk {
    place: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` where this process may not mount one.
    pub fn new(bytes: u64) -> Option<SmallDisk> {
        let place = tempfile::tempdir().unwrap();
        let disk = SmallDisk { place };
        // Not by the command: a child process would for a moment hold the locks of all tests.
        let size = std::ffi::CString::new(format!("size={bytes}")).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        let mounted = rustix::mount::mount("test", disk.path(), "tmpfs", flags, size.as_c_str());
        if let Err(error) = mounted {
            eprintln!("not tested: no file system can be mounted here ({error})");
            return None;
        }
        Some(disk)
    }

    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Leaves only about `bytes` free, or gives everything back.
    pub fn leave(&self, bytes: Option<u64>) {
        let ballast = self.path().join("ballast");
        let _ = std::fs::remove_file(&ballast);
        let Some(bytes) = bytes else { return };
        let stat = rustix::fs::statvfs(self.path()).unwrap();
        let free = stat.f_bavail * stat.f_frsize;
        std::fs::write(ballast, vec![1; free.saturating_sub(bytes) as usize]).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.path(), rustix::mount::UnmountFlags::DETACH);
    }
}

/// What a worker said when it registered.
#[derive(Debug, Clone)]
pub struct Registration {
    pub worker: Option<WorkerId>,
    pub address: Option<String>,
    pub held: Vec<Held>,
    pub running: Vec<(JobId, Task, Attempt)>,
    pub ended: Option<Ended>,
    pub devices: Vec<String>,
}

/// One worker as the script sees it.
pub struct Player {
    pub link: CoordinatorLink,
    pub id: WorkerId,
    pub registration: Registration,
}

impl Player {
    /// Hears the registration, welcomes it as `id` and opens the job.
    pub async fn welcome(
        mut link: CoordinatorLink,
        id: u64,
        definition: &Arc<JobDefinition>,
    ) -> Player {
        let first = tokio::time::timeout(LONG, link.receive.recv()).await;
        let registration = match first.expect("no registration") {
            Some(FromWorker::Register {
                worker,
                address,
                held,
                running,
                ended,
                devices,
                ..
            }) => Registration {
                worker,
                address,
                held,
                running,
                ended: ended.map(|ended| *ended),
                devices,
            },
            other => panic!("{other:?} instead of a registration"),
        };
        let player = Player {
            link,
            id: WorkerId(id),
            registration,
        };
        player.say(ToWorker::Welcome {
            worker: WorkerId(id),
            cluster: "cluster".into(),
            heartbeat: Duration::from_secs(1),
            lease: Duration::from_secs(30),
        });
        player.say(ToWorker::Open {
            job: JOB,
            definition: definition.clone(),
        });
        player
    }

    pub fn say(&self, message: ToWorker) {
        let _ = self.link.send.send(message);
    }

    /// The next thing it says that is not a heartbeat.
    pub async fn hear(&mut self) -> FromWorker {
        let heard = async {
            loop {
                match self.link.receive.recv().await {
                    Some(FromWorker::Heartbeat { .. }) => {}
                    Some(message) => return message,
                    None => panic!("it hung up"),
                }
            }
        };
        tokio::time::timeout(LONG, heard)
            .await
            .expect("it says nothing")
    }

    /// The result of a task; anything else is a failure of the test.
    pub async fn done(&mut self) -> (Task, TaskOutput, u64) {
        match self.hear().await {
            FromWorker::Done {
                task,
                output,
                usage,
                ..
            } => (task, output, usage.fetched_bytes),
            other => panic!("{other:?} instead of a result"),
        }
    }

    /// Says `message` and waits until it is durable.
    pub async fn persist(&mut self, names: Vec<ArtifactName>) {
        let mut left = names.clone();
        self.say(ToWorker::Persist { names });
        while !left.is_empty() {
            match self.hear().await {
                FromWorker::Durable { names, .. } => left.retain(|name| !names.contains(name)),
                other => panic!("{other:?} instead of Durable"),
            }
        }
    }
}

/// A coordinator that leases one level after the other.
pub struct Script {
    pub engine: Arc<Engine>,
    pub players: Vec<Player>,
    /// Says `consume` where it is allowed.
    pub consume: bool,
    pub known: BTreeMap<ArtifactName, (u64, Digest)>,
    pub holders: BTreeMap<ArtifactName, Vec<usize>>,
    pub fetched_bytes: u64,
    counter: u64,
}

impl Script {
    pub fn new(definition: &JobDefinition, players: Vec<Player>) -> Script {
        let engine = engine(definition);
        Script {
            engine,
            players,
            consume: false,
            known: BTreeMap::new(),
            holders: BTreeMap::new(),
            fetched_bytes: 0,
            counter: 0,
        }
    }

    pub fn attempt(&mut self) -> Attempt {
        self.counter += 1;
        Attempt {
            epoch: 1,
            counter: self.counter,
        }
    }

    pub fn input(&self, name: ArtifactName) -> Input {
        let (count, digest) = self.known[&name];
        let holder = |k: &usize| {
            let player = &self.players[*k];
            Holder {
                worker: player.id,
                address: player.registration.address.clone(),
            }
        };
        let holders = self
            .holders
            .get(&name)
            .into_iter()
            .flatten()
            .map(holder)
            .collect();
        Input {
            name,
            digest,
            count,
            holders,
        }
    }

    /// The lease of one task, with its inputs as far as they are known.
    pub fn lease(&mut self, level: Level, shard: u32) -> ToWorker {
        let mut names = vec![frontier_name(level - 1, shard)];
        names.extend(
            self.engine
                .sources(ShardId(shard))
                .into_iter()
                .map(|s| frontier_name(level - 1, s.0)),
        );
        match (self.engine.is_directed(), level) {
            (true, _) => {
                names.push(ArtifactName {
                    kind: ArtifactKind::Visited,
                    ..frontier_name(level - 1, shard)
                });
            }
            (false, 1) => {}
            (false, _) => names.push(frontier_name(level - 2, shard)),
        }
        names.retain(|name| name.level > 0);
        names.sort_unstable();
        names.dedup();
        let inputs = names.into_iter().map(|name| self.input(name)).collect();
        let task = Task::Expand {
            level,
            shard: ShardId(shard),
        };
        ToWorker::Lease {
            job: JOB,
            task,
            attempt: self.attempt(),
            inputs,
            consume: self.consume && level > 2,
        }
    }

    /// Records a result of player `k`.
    pub fn record(&mut self, k: usize, task: &Task, output: &TaskOutput) {
        let (Task::Expand { level, shard }, TaskOutput::Expanded { count, digest, .. }) =
            (task, output)
        else {
            panic!("{task:?} gave {output:?}");
        };
        let name = frontier_name(*level, shard.0);
        self.known.insert(name, (*count, *digest));
        self.holders.insert(name, vec![k]);
        if self.engine.is_directed() {
            let visited = |level| ArtifactName {
                kind: ArtifactKind::Visited,
                ..frontier_name(level, shard.0)
            };
            let (before, sum) = match level {
                1 => {
                    let roots = self.engine.roots(*shard);
                    (roots.count(), self.engine.digest(*shard, &roots))
                }
                _ => self.known[&visited(*level - 1)],
            };
            self.known
                .insert(visited(*level), (before + count, sum.plus(*digest)));
            self.holders.insert(visited(*level), vec![k]);
        }
    }

    /// Which player computes a shard.
    pub fn player_of(&self, shard: u32) -> usize {
        shard as usize % self.players.len()
    }

    /// One whole level; what each shard came to.
    pub async fn level(&mut self, level: Level) -> Vec<(u64, Digest)> {
        let shards = self.engine.shards();
        let mut left = vec![0; self.players.len()];
        for shard in 0..shards {
            let lease = self.lease(level, shard);
            let k = self.player_of(shard);
            self.players[k].say(lease);
            left[k] += 1;
        }
        for (k, tasks) in left.into_iter().enumerate() {
            for _ in 0..tasks {
                let (task, output, bytes) = self.players[k].done().await;
                self.fetched_bytes += bytes;
                self.record(k, &task, &output);
            }
        }
        (0..shards)
            .map(|shard| self.known[&frontier_name(level, shard)])
            .collect()
    }

    /// All levels from `first` on, until one is empty.
    pub async fn levels(&mut self, first: Level) -> Vec<Vec<(u64, Digest)>> {
        let mut levels = Vec::new();
        loop {
            let level = self.level(first + levels.len() as Level).await;
            if level.iter().all(|(count, _)| *count == 0) {
                return levels;
            }
            levels.push(level);
        }
    }
}

/// A gRPC server that hands out the other end of every worker's session.
pub struct Exchange {
    pub address: SocketAddr,
    pub links: mpsc::UnboundedReceiver<CoordinatorLink>,
    stop: tokio::sync::oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
}

impl Exchange {
    pub async fn start(address: SocketAddr) -> Exchange {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (links, receiver) = mpsc::unbounded_channel();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let serving = tonic::transport::Server::builder()
            .add_service(CoordinatorServer::new(Doors { links }))
            .serve_with_incoming_shutdown(
                TcpIncoming::from(listener).with_nodelay(Some(true)),
                async {
                    let _ = stopped.await;
                },
            );
        let task = tokio::spawn(async move { serving.await.unwrap() });
        Exchange {
            address,
            links: receiver,
            stop,
            task,
        }
    }

    pub async fn next(&mut self) -> CoordinatorLink {
        tokio::time::timeout(LONG, self.links.recv())
            .await
            .expect("no session")
            .unwrap()
    }

    /// Stops the server; the caller must have dropped its links.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        tokio::time::timeout(LONG, self.task)
            .await
            .expect("the server does not stop")
            .unwrap();
    }
}

struct Doors {
    links: mpsc::UnboundedSender<CoordinatorLink>,
}

type Out<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Coordinator for Doors {
    type SessionStream = Out<wire::ToWorker>;
    type WatchStream = Out<wire::JobStatus>;

    async fn session(
        &self,
        request: Request<Streaming<wire::FromWorker>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let mut incoming = request.into_inner();
        let (to_us, receive) = mpsc::unbounded_channel();
        let (send, outgoing) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = incoming.next().await {
                let Ok(message) = FromWorker::try_from(message) else {
                    return;
                };
                if to_us.send(message).is_err() {
                    return;
                }
            }
        });
        let _ = self.links.send(CoordinatorLink { send, receive });
        let parts = |message| tokio_stream::iter(to_worker_parts(message).into_iter().map(Ok));
        let (flat, out) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut outgoing = UnboundedReceiverStream::new(outgoing);
            while let Some(message) = outgoing.next().await {
                let mut parts = parts(message);
                while let Some(part) = parts.next().await {
                    if flat.send(part).is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(out))))
    }

    async fn submit(
        &self,
        _: Request<wire::SubmitRequest>,
    ) -> Result<Response<wire::Submitted>, Status> {
        Err(not_here())
    }
    async fn jobs(&self, _: Request<wire::Nothing>) -> Result<Response<wire::JobList>, Status> {
        Err(not_here())
    }
    async fn show(
        &self,
        _: Request<wire::JobRequest>,
    ) -> Result<Response<wire::JobStatus>, Status> {
        Err(not_here())
    }
    async fn watch(
        &self,
        _: Request<wire::JobRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(not_here())
    }
    async fn cancel(
        &self,
        _: Request<wire::JobRequest>,
    ) -> Result<Response<wire::JobStatus>, Status> {
        Err(not_here())
    }
    async fn pause(
        &self,
        _: Request<wire::JobRequest>,
    ) -> Result<Response<wire::JobStatus>, Status> {
        Err(not_here())
    }
    async fn resume(
        &self,
        _: Request<wire::ResumeRequest>,
    ) -> Result<Response<wire::JobStatus>, Status> {
        Err(not_here())
    }
    async fn outlook(
        &self,
        _: Request<wire::JobRequest>,
    ) -> Result<Response<wire::Record>, Status> {
        Err(not_here())
    }
    async fn explain(&self, _: Request<wire::Record>) -> Result<Response<wire::Record>, Status> {
        Err(not_here())
    }
    async fn drain(
        &self,
        _: Request<wire::DrainRequest>,
    ) -> Result<Response<wire::WorkerList>, Status> {
        Err(not_here())
    }
    async fn forget(
        &self,
        _: Request<wire::JobRequest>,
    ) -> Result<Response<wire::Nothing>, Status> {
        Err(not_here())
    }
    async fn holdings(
        &self,
        _: Request<wire::JobRequest>,
    ) -> Result<Response<wire::HoldingsReply>, Status> {
        Err(not_here())
    }
    async fn workers(
        &self,
        _: Request<wire::Nothing>,
    ) -> Result<Response<wire::WorkerList>, Status> {
        Err(not_here())
    }
}

fn not_here() -> Status {
    antipode_proto::convert::error_status(&ClientError::Internal("only sessions here".into()))
}
