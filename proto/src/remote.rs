//! The client's and the worker's end of a conversation with a coordinator over gRPC.

use crate::client::{Answer, Client, ClientError, Submission, Submitted};
use crate::convert::{StatusReader, ToWorkerReader, WireError, client_error, request};
use crate::link::{self, WorkerLink};
use crate::status::{Explanation, Holdings, JobStatus, Outlook, Subject, WorkerStatus};
use crate::wire::coordinator_client::CoordinatorClient;
use crate::{MAX_MESSAGE_BYTES, wire};
use antipode_ids::JobId;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status, Streaming};

/// Pause between two tries to reach a process that does not answer.
const RETRY_EVERY: Duration = Duration::from_millis(100);

/// What the other side may send in one piece; the usual 16 KiB cost bulk data much time.
const MAX_FRAME_BYTES: u32 = 1 << 20;

/// A connection that notices a silent peer by itself.
pub(crate) fn endpoint(address: &str) -> Result<Endpoint, ClientError> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(|error| {
        ClientError::Invalid(format!(
            "'{address}' is not an address ({error}); give HOST:PORT"
        ))
    })?;
    Ok(endpoint
        .connect_timeout(Duration::from_secs(5))
        .tcp_nodelay(true)
        .http2_keep_alive_interval(Duration::from_secs(5))
        .keep_alive_timeout(Duration::from_secs(10))
        .max_frame_size(MAX_FRAME_BYTES)
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(8 << 20))
}

/// Tries to connect until it works or `patience` is over.
async fn connect(address: &str, patience: Duration) -> Result<Channel, ClientError> {
    let endpoint = endpoint(address)?;
    let start = Instant::now();
    loop {
        let left = patience.saturating_sub(start.elapsed()).max(RETRY_EVERY);
        if let Ok(Ok(channel)) = tokio::time::timeout(left, endpoint.connect()).await {
            return Ok(channel);
        }
        if start.elapsed() + RETRY_EVERY > patience {
            return Err(ClientError::Unreachable {
                address: address.into(),
                tried: start.elapsed(),
            });
        }
        tokio::time::sleep(RETRY_EVERY).await;
    }
}

fn coordinator(channel: Channel) -> CoordinatorClient<Channel> {
    CoordinatorClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

/// A coordinator in another process. Every call is retried until `patience` is over while nobody
/// answers; all calls may be repeated without harm.
#[derive(Debug, Clone)]
pub struct RemoteClient {
    address: String,
    patience: Duration,
    calls: CoordinatorClient<Channel>,
}

impl RemoteClient {
    /// Connects to `HOST:PORT`. Fails with [`ClientError::Unreachable`] when `patience` is over.
    pub async fn connect(address: &str, patience: Duration) -> Result<RemoteClient, ClientError> {
        let channel = connect(address, patience).await?;
        Ok(RemoteClient {
            address: address.into(),
            patience,
            calls: coordinator(channel),
        })
    }

    async fn call<M, R, F>(
        &self,
        message: M,
        method: impl Fn(CoordinatorClient<Channel>, Request<M>) -> F,
    ) -> Result<R, ClientError>
    where
        M: Clone,
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let start = Instant::now();
        loop {
            let status = match method(self.calls.clone(), request(message.clone())).await {
                Ok(response) => return Ok(response.into_inner()),
                Err(status) => status,
            };
            let tried = start.elapsed();
            if status.code() != tonic::Code::Unavailable || tried + RETRY_EVERY > self.patience {
                return Err(client_error(status, &self.address, tried));
            }
            tokio::time::sleep(RETRY_EVERY).await;
        }
    }

    async fn job(&self, job: JobId, verb: Verb) -> Result<JobStatus, ClientError> {
        let status = self
            .call(
                wire::JobRequest::from(job),
                |mut calls, request| async move {
                    match verb {
                        Verb::Show => calls.show(request).await,
                        Verb::Cancel => calls.cancel(request).await,
                        Verb::Pause => calls.pause(request).await,
                    }
                },
            )
            .await?;
        JobStatus::try_from(status).map_err(unreadable)
    }

    async fn open_watch(&self, job: JobId) -> Result<Streaming<wire::JobStatus>, ClientError> {
        let watch = |mut calls: CoordinatorClient<Channel>, request| async move {
            calls.watch(request).await
        };
        self.call(wire::JobRequest::from(job), watch).await
    }

    /// Passes statuses on until the job is over, nobody listens, or the coordinator stays away.
    async fn pass_on(
        self,
        job: JobId,
        mut stream: Streaming<wire::JobStatus>,
        to: mpsc::UnboundedSender<JobStatus>,
    ) {
        let mut reader = StatusReader::default();
        loop {
            let next = tokio::select! {
                next = stream.next() => next,
                () = to.closed() => return,
            };
            match next {
                Some(Ok(status)) => {
                    let Ok(status) = reader.read(status) else {
                        return;
                    };
                    let over = status.state.is_at_rest();
                    if to.send(status).is_err() || over {
                        return;
                    }
                }
                // The coordinator went away in mid-job; it may come back with the job on its disk.
                Some(Err(_)) | None => match self.open_watch(job).await {
                    Ok(again) => stream = again,
                    Err(_) => return,
                },
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Verb {
    Show,
    Cancel,
    Pause,
}

fn unreadable(error: WireError) -> ClientError {
    ClientError::Internal(format!("its answer cannot be read: {error}"))
}

impl Client for RemoteClient {
    fn submit(&self, submission: Submission) -> Answer<'_, Submitted> {
        Box::pin(async move {
            let message = wire::SubmitRequest::from(submission);
            let submit = |mut calls: CoordinatorClient<Channel>, request| async move {
                calls.submit(request).await
            };
            Ok(self.call(message, submit).await?.into())
        })
    }

    fn jobs(&self) -> Answer<'_, Vec<JobStatus>> {
        Box::pin(async move {
            let jobs = |mut calls: CoordinatorClient<Channel>, request| async move {
                calls.jobs(request).await
            };
            let list = self.call(wire::Nothing {}, jobs).await?;
            list.try_into().map_err(unreadable)
        })
    }

    fn show(&self, job: JobId) -> Answer<'_, JobStatus> {
        Box::pin(self.job(job, Verb::Show))
    }

    fn watch(&self, job: JobId) -> Answer<'_, mpsc::UnboundedReceiver<JobStatus>> {
        Box::pin(async move {
            let stream = self.open_watch(job).await?;
            let (to, receiver) = mpsc::unbounded_channel();
            tokio::spawn(self.clone().pass_on(job, stream, to));
            Ok(receiver)
        })
    }

    fn cancel(&self, job: JobId) -> Answer<'_, JobStatus> {
        Box::pin(self.job(job, Verb::Cancel))
    }

    fn pause(&self, job: JobId) -> Answer<'_, JobStatus> {
        Box::pin(self.job(job, Verb::Pause))
    }

    fn resume(&self, job: JobId, fresh: bool) -> Answer<'_, JobStatus> {
        Box::pin(async move {
            let resume = |mut calls: CoordinatorClient<Channel>, request| async move {
                calls.resume(request).await
            };
            let status = self
                .call(wire::ResumeRequest { job: job.0, fresh }, resume)
                .await?;
            status.try_into().map_err(unreadable)
        })
    }

    fn outlook(&self, job: JobId) -> Answer<'_, Outlook> {
        Box::pin(async move {
            let outlook = |mut calls: CoordinatorClient<Channel>, request| async move {
                calls.outlook(request).await
            };
            let reply = self.call(wire::JobRequest::from(job), outlook).await?;
            reply.try_into().map_err(unreadable)
        })
    }

    fn explain(&self, subject: Subject) -> Answer<'_, Explanation> {
        Box::pin(async move {
            let explain = |mut calls: CoordinatorClient<Channel>, request| async move {
                calls.explain(request).await
            };
            let reply = self.call(wire::Record::from(subject), explain).await?;
            reply.try_into().map_err(unreadable)
        })
    }

    fn drain(&self, worker: String) -> Answer<'_, Vec<WorkerStatus>> {
        Box::pin(async move {
            let drain = |mut calls: CoordinatorClient<Channel>, request| async move {
                calls.drain(request).await
            };
            Ok(self
                .call(wire::DrainRequest { worker }, drain)
                .await?
                .into())
        })
    }

    fn forget(&self, job: JobId) -> Answer<'_, ()> {
        Box::pin(async move {
            let forget = |mut calls: CoordinatorClient<Channel>, request| async move {
                calls.forget(request).await
            };
            self.call(wire::JobRequest::from(job), forget).await?;
            Ok(())
        })
    }

    fn holdings(&self, job: JobId) -> Answer<'_, Holdings> {
        Box::pin(async move {
            let holdings = |mut calls: CoordinatorClient<Channel>, request| async move {
                calls.holdings(request).await
            };
            let reply = self.call(wire::JobRequest::from(job), holdings).await?;
            reply.try_into().map_err(unreadable)
        })
    }

    fn workers(&self) -> Answer<'_, Vec<WorkerStatus>> {
        Box::pin(async move {
            let workers = |mut calls: CoordinatorClient<Channel>, request| async move {
                calls.workers(request).await
            };
            Ok(self.call(wire::Nothing {}, workers).await?.into())
        })
    }
}

/// Opens a worker's conversation with the coordinator at `HOST:PORT`. The link closes (its `recv`
/// gives `None`) when the connection is lost or the coordinator ends it; dropping the link ends it
/// from this side. Registering is the caller's first message.
pub async fn connect_session(address: &str, patience: Duration) -> Result<WorkerLink, ClientError> {
    let start = Instant::now();
    let mut calls = coordinator(connect(address, patience).await?);
    let (worker, ours) = link::pair();
    let outgoing = UnboundedReceiverStream::new(ours.receive).map(wire::FromWorker::from);
    let incoming = calls
        .session(request(outgoing))
        .await
        .map_err(|status| client_error(status, address, start.elapsed()))?
        .into_inner();
    tokio::spawn(async move {
        let mut incoming = incoming;
        let mut reader = ToWorkerReader::default();
        loop {
            let next = tokio::select! {
                next = incoming.next() => next,
                () = ours.send.closed() => return,
            };
            match next.map(|message| message.map(|m| reader.read(m))) {
                Some(Ok(Ok(Some(message)))) => {
                    if ours.send.send(message).is_err() {
                        return;
                    }
                }
                Some(Ok(Ok(None))) => {}
                // A message that cannot be read breaks the order of all that follow: end it.
                _ => return,
            }
        }
    });
    Ok(worker)
}
