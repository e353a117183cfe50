//! The coordinator with a worker in the same process: results, promises, restarts.

mod support;

use antipode_coordinator::{Coordinator, OpenError, read_only};
use antipode_proto::client::{Client, ClientError, Submission};
use antipode_proto::ids::JobId;
use antipode_proto::status::JobState;
use antipode_solver_core::job::BfsSpec;
use std::time::Duration;
use support::{
    COORDINATES, FakeWorker, config, counts, is_finished, levels, prepare, submission, wait_for,
};
use tokio::sync::watch;

async fn open(data: &std::path::Path) -> Coordinator {
    Coordinator::open_with(config(data), prepare())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_search_gives_its_levels_and_a_watcher_hears_of_the_end() {
    let data = tempfile::tempdir().unwrap();
    let coordinator = open(data.path()).await;
    let client = coordinator.client();
    let job = client.submit(submission("a")).await.unwrap().job;
    let mut statuses = client.watch(job).await.unwrap();
    let link = coordinator.attach();
    let (_all, up_to) = watch::channel(99);
    let working = tokio::spawn(async move {
        let mut worker = FakeWorker::new(up_to);
        assert_eq!(worker.converse(link).await, None);
        worker
    });

    let mut seen = Vec::new();
    while let Some(status) = statuses.recv().await {
        seen.push(status);
    }
    assert!(
        seen.windows(2)
            .all(|w| w[0].levels.len() <= w[1].levels.len())
    );
    let last = seen.pop().unwrap();
    assert_eq!(last.state, JobState::Finished);
    assert_eq!(counts(&last), levels());
    assert!(last.exhausted);
    assert_eq!(last.partial, 0);
    assert_eq!(
        last.antipodes.len(),
        1,
        "the farthest state of a cube is one"
    );
    assert_eq!(last.resumed, None);
    assert_eq!((last.workers, last.threads), (1, 2));
    assert_eq!(last.engine.unwrap().kernel, "portable");
    assert_eq!(last.tasks_running, 0);

    let workers = client.workers().await.unwrap();
    assert_eq!(workers.len(), 1);
    assert!(workers[0].connected && workers[0].running.is_empty());
    assert_eq!(workers[0].tasks_done, last.tasks_done);

    coordinator.close().await;
    let worker = working.await.unwrap();
    assert_eq!(worker.computed, last.tasks_done);
    assert!(
        worker.held.is_empty(),
        "a finished job leaves nothing behind"
    );
    assert_eq!(worker.opened, 1);
}

#[tokio::test]
async fn a_submission_repeated_is_the_same_job() {
    let data = tempfile::tempdir().unwrap();
    let coordinator = open(data.path()).await;
    let client = coordinator.client();
    let first = client.submit(submission("key")).await.unwrap();
    assert!(!first.existing);
    assert_eq!(client.submit(submission("key")).await, Ok(first), "a retry");
    coordinator.abort().await;

    let coordinator = open(data.path()).await;
    let client = coordinator.client();
    assert_eq!(
        client.submit(submission("key")).await,
        Ok(first),
        "a retry after a crash"
    );
    let other = client.submit(submission("other key")).await.unwrap();
    assert_eq!(
        (other.job, other.existing),
        (first.job, true),
        "the same question"
    );
    let fresh = Submission {
        fresh: true,
        ..submission("fresh")
    };
    let fresh = client.submit(fresh).await.unwrap();
    assert_ne!(fresh.job, first.job);
    let more = BfsSpec {
        antipodes: 50,
        ..support::spec()
    };
    let more = client
        .submit(Submission {
            spec: more.into(),
            ..submission("more")
        })
        .await
        .unwrap();
    assert!(!more.existing, "the stored job lists less than is asked");
    assert_eq!(client.jobs().await.unwrap().len(), 3);
    coordinator.close().await;
}

#[tokio::test]
async fn a_killed_coordinator_goes_on_with_what_its_worker_holds() {
    let data = tempfile::tempdir().unwrap();
    let (gate, up_to) = watch::channel(5);
    let mut worker = FakeWorker::new(up_to);

    let coordinator = open(data.path()).await;
    let client = coordinator.client();
    let job = client.submit(submission("a")).await.unwrap().job;
    let link = coordinator.attach();
    let reached = async {
        wait_for(&client, job, |status| status.levels.len() == 6).await;
        coordinator.abort().await;
    };
    let (refused, ()) = tokio::join!(worker.converse(link), reached);
    assert_eq!(refused, None);
    assert!(!worker.held.is_empty() && !worker.running.is_empty());

    // The worker's process lived on.
    gate.send_replace(99);
    let coordinator = open(data.path()).await;
    let client = coordinator.client();
    let link = coordinator.attach();
    let finished = async {
        let status = wait_for(&client, job, is_finished).await;
        coordinator.close().await;
        status
    };
    let (_, status) = tokio::join!(worker.converse(link), finished);
    assert_eq!(counts(&status), levels());
}

#[tokio::test]
async fn a_paused_job_goes_on_from_its_checkpoint_after_everything_ended() {
    let data = tempfile::tempdir().unwrap();
    let (gate, up_to) = watch::channel(5);
    let mut worker = FakeWorker::new(up_to);

    let coordinator = open(data.path()).await;
    let client = coordinator.client();
    let job = client.submit(submission("a")).await.unwrap().job;
    let link = coordinator.attach();
    let pausing = async {
        wait_for(&client, job, |status| status.levels.len() == 6).await;
        // Tasks of level 6 are leased already: the checkpoint is at the level they reach.
        let (paused, _) = tokio::join!(client.pause(job), async { gate.send_replace(6) });
        let status = paused.unwrap();
        coordinator.abort().await;
        status
    };
    let (_, paused) = tokio::join!(worker.converse(link), pausing);
    assert_eq!(paused.state, JobState::Paused);
    assert_eq!(counts(&paused), levels()[..=6]);
    let computed = worker.computed;

    worker.crash();
    gate.send_replace(99);
    let coordinator = open(data.path()).await;
    let client = coordinator.client();
    assert_eq!(client.show(job).await.unwrap().state, JobState::Paused);
    assert_eq!(
        client.submit(submission("again")).await.unwrap().job,
        job,
        "and it goes on"
    );
    let link = coordinator.attach();
    let finished = async {
        let status = wait_for(&client, job, is_finished).await;
        coordinator.close().await;
        status
    };
    let (_, status) = tokio::join!(worker.converse(link), finished);
    assert_eq!(counts(&status), levels());
    let resumed = status.resumed.unwrap();
    assert_eq!((resumed.from_level, resumed.tasks_redone), (6, 0));
    assert!(resumed.tasks_kept > 0);
    let rest = u64::from(support::SHARDS) * (u64::from(COORDINATES) - 6) + 2;
    assert!(
        worker.computed - computed <= rest,
        "{} tasks after level 6",
        worker.computed - computed
    );
}

#[tokio::test]
async fn a_worker_that_lost_everything_only_costs_time() {
    let data = tempfile::tempdir().unwrap();
    let (gate, up_to) = watch::channel(7);
    let coordinator = open(data.path()).await;
    let client = coordinator.client();
    let job = client.submit(submission("a")).await.unwrap().job;
    let link = coordinator.attach();
    let (cut, cutting) = tokio::sync::oneshot::channel::<()>();
    let first = tokio::spawn(async move {
        let mut worker = FakeWorker::new(up_to);
        tokio::select! { _ = worker.converse(link) => {}, _ = cutting => {} }
        worker
    });
    wait_for(&client, job, |status| status.levels.len() == 8).await;
    cut.send(()).unwrap();
    let mut worker = first.await.unwrap();
    let stalled = wait_for(&client, job, |status| {
        matches!(status.state, JobState::Stalled { .. })
    })
    .await;
    assert_eq!(counts(&stalled), levels()[..=7], "results are permanent");

    worker.crash();
    gate.send_replace(99);
    let link = coordinator.attach();
    let finished = async {
        let status = wait_for(&client, job, is_finished).await;
        coordinator.close().await;
        status
    };
    let (_, status) = tokio::join!(worker.converse(link), finished);
    assert_eq!(counts(&status), levels());
}

#[tokio::test]
async fn cancelled_and_unknown_jobs_are_answered() {
    let data = tempfile::tempdir().unwrap();
    let coordinator = open(data.path()).await;
    let client = coordinator.client();
    assert_eq!(
        client.show(JobId(9)).await,
        Err(ClientError::NoSuchJob(JobId(9)))
    );
    assert_eq!(
        client.cancel(JobId(9)).await,
        Err(ClientError::NoSuchJob(JobId(9)))
    );
    assert!(client.watch(JobId(9)).await.is_err());
    let job = client.submit(submission("a")).await.unwrap().job;
    assert_eq!(client.cancel(job).await.unwrap().state, JobState::Cancelled);
    let resumed = client.resume(job, false).await;
    assert!(
        matches!(resumed, Err(ClientError::Invalid(_))),
        "{resumed:?}"
    );
    let again = client.submit(submission("b")).await.unwrap();
    assert!(!again.existing, "a cancelled job answers nothing");
    coordinator.close().await;
    let gone = client.jobs().await.unwrap_err();
    assert!(matches!(gone, ClientError::Internal(_)));
}

#[tokio::test]
async fn a_store_is_for_one_process_and_can_be_read_afterwards() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("store");
    assert!(matches!(read_only(&path), Err(OpenError::Missing { .. })));
    let coordinator = open(&path).await;
    let job = coordinator
        .client()
        .submit(submission("a"))
        .await
        .unwrap()
        .job;
    let second = Coordinator::open_with(config(&path), prepare())
        .await
        .err()
        .unwrap();
    let pid = std::process::id().to_string();
    assert!(
        matches!(&second, OpenError::InUse { pid: p, .. } if *p == pid),
        "{second}"
    );
    assert!(matches!(read_only(&path), Err(OpenError::InUse { .. })));
    coordinator.close().await;

    let jobs = read_only(&path).unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].job, counts(&jobs[0])), (job, vec![1]));

    std::fs::write(data.path().join("file"), "").unwrap();
    let under_a_file = Coordinator::open_with(config(&data.path().join("file/x")), prepare()).await;
    assert!(matches!(
        under_a_file.err().unwrap(),
        OpenError::Unwritable { .. }
    ));
}

#[tokio::test]
async fn a_worker_of_another_cluster_or_protocol_is_refused_by_name() {
    let data = tempfile::tempdir().unwrap();
    let coordinator = open(data.path()).await;
    let (_all, up_to) = watch::channel(99);
    let mut worker = FakeWorker::new(up_to);
    worker.protocol = 77;
    let reason = worker.converse(coordinator.attach()).await.unwrap();
    assert!(
        reason.contains("protocol 77")
            && reason.contains(&format!("speaks {}", antipode_proto::PROTOCOL_VERSION)),
        "{reason}"
    );

    worker.protocol = antipode_proto::PROTOCOL_VERSION;
    worker.cluster = Some("another".into());
    let reason = worker.converse(coordinator.attach()).await.unwrap();
    assert!(reason.contains("cluster another"), "{reason}");
    tokio::time::timeout(Duration::from_secs(20), coordinator.close())
        .await
        .unwrap();
}
