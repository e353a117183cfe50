//! The coordinator behind a real listener: worker sessions, clients, versions.

mod support;

use antipode_coordinator::Coordinator;
use antipode_proto::PROTOCOL_VERSION;
use antipode_proto::client::{Client, ClientError};
use antipode_proto::convert::{PROTOCOL_KEY, client_error};
use antipode_proto::ids::JobId;
use antipode_proto::remote::{RemoteClient, connect_session};
use antipode_proto::status::JobState;
use antipode_proto::wire;
use antipode_proto::wire::coordinator_client::CoordinatorClient;
use std::time::Duration;
use support::{FakeWorker, config, counts, is_finished, levels, prepare, submission, wait_for};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

const PATIENCE: Duration = Duration::from_secs(10);

/// A served coordinator; the sender ends it.
async fn serve(
    data: &std::path::Path,
    listener: TcpListener,
) -> (oneshot::Sender<()>, tokio::task::JoinHandle<Coordinator>) {
    let coordinator = Coordinator::open_with(config(data), prepare())
        .await
        .unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let shutdown = async {
            let _ = stopped.await;
        };
        coordinator.serve(listener, shutdown).await.unwrap();
        coordinator
    });
    (stop, serving)
}

#[tokio::test]
async fn a_search_over_tcp_survives_a_restart_of_the_coordinator() {
    let data = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (stop, serving) = serve(data.path(), listener).await;
    let client = RemoteClient::connect(&address, PATIENCE).await.unwrap();
    let submitted = client.submit(submission("a")).await.unwrap();
    assert_eq!(client.submit(submission("a")).await, Ok(submitted));
    let job = submitted.job;

    let (gate, up_to) = watch::channel(4);
    let worker_address = address.clone();
    let working = tokio::spawn(async move {
        let mut worker = FakeWorker::new(up_to);
        // A worker outlives the coordinator: it comes again until there is nothing to come to.
        while let Ok(link) = connect_session(&worker_address, PATIENCE).await {
            worker.converse(link).await;
            if *worker.up_to.borrow() == 99 && worker.running.is_empty() {
                break;
            }
        }
        worker
    });
    let watching = client.clone();
    let watched = tokio::spawn(async move { wait_for(&watching, job, is_finished).await });
    wait_for(&client, job, |status| status.levels.len() == 5).await;

    stop.send(()).unwrap();
    tokio::time::timeout(PATIENCE, serving)
        .await
        .expect("open streams must not hold it up")
        .unwrap()
        .close()
        .await;
    let listener = TcpListener::bind(&address).await.unwrap();
    let (stop, serving) = serve(data.path(), listener).await;
    gate.send_replace(99);
    let status = watched.await.unwrap();
    assert_eq!(counts(&status), levels());
    assert!(
        status.definition.space.body.is_empty(),
        "the index is not sent to users"
    );
    assert_eq!(client.show(job).await.unwrap().levels, status.levels);
    let workers = client.workers().await.unwrap();
    assert_eq!((workers.len(), workers[0].name.as_str()), (1, "fake"));
    assert_eq!(
        client.show(JobId(44)).await,
        Err(ClientError::NoSuchJob(JobId(44)))
    );

    stop.send(()).unwrap();
    serving.await.unwrap().close().await;
    let worker = working.await.unwrap();
    assert_eq!(worker.opened, 2, "once a connection");
    let due = u64::from(support::SHARDS * support::COORDINATES) + 2;
    assert!(
        worker.computed <= due,
        "{} tasks, {due} are all there are",
        worker.computed
    );
}

#[tokio::test]
async fn pause_and_cancel_work_from_afar() {
    let data = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (stop, serving) = serve(data.path(), listener).await;
    let client = RemoteClient::connect(&address, PATIENCE).await.unwrap();
    let job = client.submit(submission("a")).await.unwrap().job;
    assert_eq!(client.pause(job).await.unwrap().state, JobState::Paused);
    client.resume(job, false).await.unwrap();
    assert_eq!(client.cancel(job).await.unwrap().state, JobState::Cancelled);
    assert_eq!(client.jobs().await.unwrap().len(), 1);
    stop.send(()).unwrap();
    serving.await.unwrap().close().await;
}

#[tokio::test]
async fn another_protocol_version_is_refused_and_both_are_named() {
    let data = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (stop, serving) = serve(data.path(), listener).await;
    let mut calls = CoordinatorClient::connect(format!("http://{address}"))
        .await
        .unwrap();
    let mut request = tonic::Request::new(wire::Nothing {});
    request.metadata_mut().insert(PROTOCOL_KEY, 99u32.into());
    let status = calls.jobs(request).await.unwrap_err();
    assert!(
        status.message().contains("protocol 99")
            && status
                .message()
                .contains(&format!("speaks {PROTOCOL_VERSION}")),
        "{status}"
    );
    let error = client_error(status, &address, PATIENCE);
    assert!(
        matches!(
            error,
            ClientError::Version {
                theirs: PROTOCOL_VERSION,
                ..
            }
        ),
        "{error:?}"
    );

    let session = tonic::Request::new(tokio_stream::empty());
    let status = calls.session(session).await.unwrap_err();
    assert!(status.message().contains("protocol 0"), "{status}");
    stop.send(()).unwrap();
    serving.await.unwrap().close().await;
}

#[tokio::test]
async fn a_coordinator_that_is_not_there_is_named_with_the_time_it_was_tried() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = nobody.local_addr().unwrap().to_string();
    drop(nobody);
    let patience = Duration::from_millis(300);
    let error = RemoteClient::connect(&address, patience).await.unwrap_err();
    let ClientError::Unreachable {
        address: named,
        tried,
    } = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!(*named, address);
    assert!(
        *tried >= Duration::from_millis(200) && *tried < Duration::from_secs(5),
        "{tried:?}"
    );
    assert!(
        error.to_string().contains("antipode coordinator"),
        "{error}"
    );
}
