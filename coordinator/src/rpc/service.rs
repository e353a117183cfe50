//! The calls, each: check the protocol version, convert, ask, convert back.

use super::{ended, session};
use crate::client::LocalClient;
use crate::run::Command;
use antipode_ids::{Cause, JobId};
use antipode_proto::PROTOCOL_VERSION;
use antipode_proto::client::{Client, ClientError, Submission};
use antipode_proto::convert::{caller_version, error_status, version_mismatch, without_definition};
use antipode_proto::status::Subject;
use antipode_proto::wire;
use antipode_proto::wire::coordinator_server::Coordinator;
use futures_util::StreamExt;
use futures_util::stream::Stream;
use std::pin::Pin;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Request, Response, Status, Streaming};

pub struct Service {
    pub client: LocalClient,
    pub commands: mpsc::UnboundedSender<Command>,
    pub stopped: watch::Receiver<bool>,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The message of a call whose caller speaks our protocol.
fn checked<T>(request: Request<T>) -> Result<T, Status> {
    match caller_version(request.metadata()) {
        PROTOCOL_VERSION => Ok(request.into_inner()),
        theirs => Err(version_mismatch(theirs)),
    }
}

fn answered<D, W: From<D>>(answer: Result<D, ClientError>) -> Result<Response<W>, Status> {
    answer
        .map(|value| Response::new(value.into()))
        .map_err(|error| error_status(&error))
}

#[tonic::async_trait]
impl Coordinator for Service {
    type SessionStream = Answers<wire::ToWorker>;
    type WatchStream = Answers<wire::JobStatus>;

    async fn session(
        &self,
        request: Request<Streaming<wire::FromWorker>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let theirs = caller_version(request.metadata());
        let checked = checked(request).inspect_err(|_| {
            let what = format!(
                "a worker was refused: {} ({theirs}; this coordinator speaks {PROTOCOL_VERSION})",
                Cause::Version
            );
            _ = self.commands.send(Command::Note { what });
        })?;
        let (outgoing, link) = session::open(checked, self.stopped.clone());
        self.commands
            .send(Command::Attach { link, local: false })
            .map_err(|_| Status::unavailable("the coordinator is ending"))?;
        Ok(Response::new(Box::pin(outgoing)))
    }

    async fn submit(
        &self,
        request: Request<wire::SubmitRequest>,
    ) -> Result<Response<wire::Submitted>, Status> {
        let submission = Submission::try_from(checked(request)?)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        answered(self.client.submit(submission).await)
    }

    async fn jobs(
        &self,
        request: Request<wire::Nothing>,
    ) -> Result<Response<wire::JobList>, Status> {
        checked(request)?;
        answered(self.client.jobs().await)
    }

    async fn show(
        &self,
        request: Request<wire::JobRequest>,
    ) -> Result<Response<wire::JobStatus>, Status> {
        answered(self.client.show(JobId(checked(request)?.job)).await)
    }

    async fn watch(
        &self,
        request: Request<wire::JobRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let job = JobId(checked(request)?.job);
        let statuses = self
            .client
            .watch(job)
            .await
            .map_err(|error| error_status(&error))?;
        let mut first = true;
        let stream = UnboundedReceiverStream::new(statuses).map(move |status| {
            let with_definition = std::mem::replace(&mut first, false);
            Ok(if with_definition {
                status.into()
            } else {
                without_definition(status)
            })
        });
        Ok(Response::new(Box::pin(
            stream.take_until(ended(self.stopped.clone())),
        )))
    }

    async fn cancel(
        &self,
        request: Request<wire::JobRequest>,
    ) -> Result<Response<wire::JobStatus>, Status> {
        answered(self.client.cancel(JobId(checked(request)?.job)).await)
    }

    async fn pause(
        &self,
        request: Request<wire::JobRequest>,
    ) -> Result<Response<wire::JobStatus>, Status> {
        answered(self.client.pause(JobId(checked(request)?.job)).await)
    }

    async fn resume(
        &self,
        request: Request<wire::ResumeRequest>,
    ) -> Result<Response<wire::JobStatus>, Status> {
        let wire::ResumeRequest { job, fresh } = checked(request)?;
        answered(self.client.resume(JobId(job), fresh).await)
    }

    async fn outlook(
        &self,
        request: Request<wire::JobRequest>,
    ) -> Result<Response<wire::Record>, Status> {
        answered(self.client.outlook(JobId(checked(request)?.job)).await)
    }

    async fn explain(
        &self,
        request: Request<wire::Record>,
    ) -> Result<Response<wire::Record>, Status> {
        let subject = Subject::try_from(checked(request)?)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        answered(self.client.explain(subject).await)
    }

    async fn drain(
        &self,
        request: Request<wire::DrainRequest>,
    ) -> Result<Response<wire::WorkerList>, Status> {
        answered(self.client.drain(checked(request)?.worker).await)
    }

    async fn forget(
        &self,
        request: Request<wire::JobRequest>,
    ) -> Result<Response<wire::Nothing>, Status> {
        let forgotten = self.client.forget(JobId(checked(request)?.job)).await;
        forgotten
            .map(|()| Response::new(wire::Nothing {}))
            .map_err(|error| error_status(&error))
    }

    async fn holdings(
        &self,
        request: Request<wire::JobRequest>,
    ) -> Result<Response<wire::HoldingsReply>, Status> {
        answered(self.client.holdings(JobId(checked(request)?.job)).await)
    }

    async fn workers(
        &self,
        request: Request<wire::Nothing>,
    ) -> Result<Response<wire::WorkerList>, Status> {
        checked(request)?;
        answered(self.client.workers().await)
    }
}
