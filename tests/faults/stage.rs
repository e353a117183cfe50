//! A coordinator and three workers on loopback, and a job that is slowed down so that faults meet it at
//! work.

use crate::common::{Process, User, eventually};
use serde_json::Value;
use std::net::TcpListener;
use std::sync::OnceLock;

/// 362,880 states in 37 levels; every level waits for shard 0 of 9.
pub const JOB: &str = "bfs lrx:9 --shards 9";
const DELAY: &str = "shard=0,ms=60";
pub const WORKERS: usize = 3;

/// Counts and digests of all levels of a run in which nothing fails.
fn quiet() -> &'static (Value, Value) {
    static QUIET: OnceLock<(Value, Value)> = OnceLock::new();
    QUIET.get_or_init(|| {
        let report = User::new().json(&format!("run {JOB} --json"));
        assert_eq!(report["states"], "362880");
        (report["counts"].clone(), report["level_digests"].clone())
    })
}

pub struct Stage {
    pub user: User,
    port: u16,
    pub coordinator: Option<Process>,
    pub workers: Vec<Option<Process>>,
    /// More arguments of the job.
    job: String,
    coordinator_arguments: String,
    worker_arguments: Vec<String>,
    /// Environment of workers that are started from now on.
    pub worker_kill: Option<String>,
    /// A variable more in their environment.
    pub worker_environment: Option<(String, String)>,
    /// Faults that met the job at work.
    pub faults: usize,
}

impl Stage {
    pub fn new() -> Stage {
        Stage::with("", "", vec![String::new(); WORKERS])
    }

    /// With more arguments for job, coordinator and workers.
    pub fn with(job: &str, coordinator: &str, workers: Vec<String>) -> Stage {
        let mut stage = Stage::prepared(job, coordinator, workers);
        stage.start_all();
        stage.submit();
        stage
    }

    /// Nothing is started yet.
    pub fn prepared(job: &str, coordinator: &str, workers: Vec<String>) -> Stage {
        quiet();
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("its address").port();
        Stage {
            user: User::new(),
            port,
            coordinator: None,
            workers: workers.iter().map(|_| None).collect(),
            job: job.into(),
            coordinator_arguments: coordinator.into(),
            worker_arguments: workers,
            worker_kill: None,
            worker_environment: None,
            faults: 0,
        }
    }

    /// From its next start on the worker reaches the coordinator at another address.
    pub fn worker_through(&mut self, at: usize, address: &str) {
        self.worker_arguments[at] += &format!(" --coordinator {address}");
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn start_all(&mut self) {
        self.start_coordinator(None);
        for at in 0..self.workers.len() {
            self.start_worker(at);
        }
    }

    /// `kill`: ends by itself at that point.
    pub fn start_coordinator(&mut self, kill: Option<&str>) {
        let mut line = format!(
            "coordinator --data coordinator --listen {} --heartbeat 100ms --lease 1s --rebuild-after 1500ms {}",
            self.address(),
            self.coordinator_arguments
        );
        if !line.contains("--checkpoint-every") {
            line += " --checkpoint-every 250ms";
        }
        let mut command = self.user.command(line.split_whitespace());
        if let Some(kill) = kill {
            command.env("ANTIPODE_TEST_KILL", kill);
        }
        let mut process = Process::of(command);
        process.wait_for_line("access file");
        self.coordinator = Some(process);
    }

    pub fn start_worker(&mut self, at: usize) {
        let mut line = format!("worker --data worker{at} --name w{at} --threads 1");
        let more = &self.worker_arguments[at];
        if !more.contains("--coordinator") {
            line += &format!(" --coordinator {}", self.address());
        }
        line = format!("{line} {more}");
        let mut command = self.user.command(line.split_whitespace());
        command.env("ANTIPODE_TEST_DELAY", DELAY);
        if let Some(kill) = &self.worker_kill {
            command.env("ANTIPODE_TEST_KILL", kill);
        }
        if let Some((name, value)) = &self.worker_environment {
            command.env(name, value);
        }
        self.workers[at] = Some(Process::of(command));
    }

    pub fn submit(&mut self) {
        self.user.json(&format!("submit {JOB} {} --json", self.job));
    }

    /// The job as it is now; `None` while no coordinator answers.
    pub fn status(&self) -> Option<Value> {
        let shown = self.user.run(&format!(
            "show last --json --coordinator {}",
            self.address()
        ));
        (shown.code == Some(0)).then(|| serde_json::from_str(&shown.stdout).expect("JSON"))
    }

    /// Waits until the job has so many levels and is at work: a fault from here on meets it there.
    #[track_caller]
    pub fn reach(&mut self, levels: usize) -> usize {
        let mut found = 0;
        eventually("the next level", || {
            let Some(status) = self.status() else {
                return false;
            };
            found = status["counts"].as_array().map_or(0, Vec::len);
            assert_ne!(status["state"], "finished", "the fault would come too late");
            assert!(
                ["queued", "running", "stalled"].contains(&status["state"].as_str().unwrap_or("")),
                "{status}"
            );
            found >= levels
        });
        self.faults += 1;
        found
    }

    pub fn kill_coordinator(&mut self) {
        if let Some(process) = self.coordinator.take() {
            process.signal("KILL");
            process.finish();
        }
    }

    pub fn kill_worker(&mut self, at: usize) {
        if let Some(process) = self.workers[at].take() {
            process.signal("KILL");
            process.finish();
        }
    }

    /// The job ends, with the counts and digests of the quiet run.
    #[track_caller]
    pub fn finish(&mut self) -> Value {
        let mut last = Value::Null;
        eventually("the job is finished", || {
            let Some(status) = self.status() else {
                return false;
            };
            let state = status["state"].as_str().unwrap_or("").to_string();
            assert!(
                ["queued", "running", "stalled", "finished"].contains(&state.as_str()),
                "{status}"
            );
            last = status;
            state == "finished"
        });
        let (counts, digests) = quiet();
        assert_eq!(&last["counts"], counts);
        assert_eq!(
            &last["level_digests"], digests,
            "the same states, bit for bit"
        );
        last
    }
}
