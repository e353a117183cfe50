//! The client in the coordinator's own process: questions into the queue, answers out of channels.

use crate::prepare::{Prepare, Prepared};
use crate::run::{Command, Question};
use antipode_ids::JobId;
use antipode_proto::client::{Answer, Client, ClientError, Submission, Submitted};
use antipode_proto::status::{Explanation, Holdings, JobStatus, Outlook, Subject, WorkerStatus};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// A coordinator in this process, as its users see it.
#[derive(Clone)]
pub struct LocalClient {
    commands: mpsc::UnboundedSender<Command>,
    prepare: Prepare,
}

impl LocalClient {
    pub(crate) fn new(commands: mpsc::UnboundedSender<Command>, prepare: Prepare) -> LocalClient {
        LocalClient { commands, prepare }
    }

    async fn ask<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<Result<T, ClientError>>) -> Question,
    ) -> Result<T, ClientError> {
        let (to, answer) = oneshot::channel();
        let ended = || ClientError::Internal("it has ended".into());
        self.commands
            .send(Command::Ask(question(to)))
            .map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

impl Client for LocalClient {
    fn submit(&self, submission: Submission) -> Answer<'_, Submitted> {
        Box::pin(async move {
            let Submission { key, spec, fresh } = submission;
            // A retry is answered before anything is built again.
            let asked = key.clone();
            let question = Box::new(spec.clone());
            let known = |to| Question::KnownKey {
                key: asked,
                spec: question,
                to,
            };
            if let Some(submitted) = self.ask(known).await? {
                return Ok(submitted);
            }
            let prepare = Arc::clone(&self.prepare);
            let prepared = tokio::task::spawn_blocking(move || prepare(spec)).await;
            let Prepared { definition, roots } = prepared.map_err(|panic| {
                ClientError::Internal(format!("building the index failed: {panic}"))
            })??;
            self.ask(|to| Question::Submit {
                key,
                fresh,
                definition,
                roots,
                to,
            })
            .await
        })
    }

    fn jobs(&self) -> Answer<'_, Vec<JobStatus>> {
        Box::pin(self.ask(|to| Question::Jobs { to }))
    }

    fn show(&self, job: JobId) -> Answer<'_, JobStatus> {
        Box::pin(self.ask(move |to| Question::Show { job, to }))
    }

    fn watch(&self, job: JobId) -> Answer<'_, mpsc::UnboundedReceiver<JobStatus>> {
        Box::pin(self.ask(move |to| Question::Watch { job, to }))
    }

    fn cancel(&self, job: JobId) -> Answer<'_, JobStatus> {
        Box::pin(self.ask(move |to| Question::Cancel { job, to }))
    }

    fn pause(&self, job: JobId) -> Answer<'_, JobStatus> {
        Box::pin(self.ask(move |to| Question::Pause { job, to }))
    }

    fn resume(&self, job: JobId, fresh: bool) -> Answer<'_, JobStatus> {
        Box::pin(self.ask(move |to| Question::Resume { job, fresh, to }))
    }

    fn outlook(&self, job: JobId) -> Answer<'_, Outlook> {
        Box::pin(self.ask(move |to| Question::Outlook { job, to }))
    }

    fn explain(&self, subject: Subject) -> Answer<'_, Explanation> {
        Box::pin(self.ask(move |to| Question::Explain { subject, to }))
    }

    fn drain(&self, worker: String) -> Answer<'_, Vec<WorkerStatus>> {
        Box::pin(self.ask(move |to| Question::Drain { worker, to }))
    }

    fn forget(&self, job: JobId) -> Answer<'_, ()> {
        Box::pin(self.ask(move |to| Question::Forget { job, to }))
    }

    fn holdings(&self, job: JobId) -> Answer<'_, Holdings> {
        Box::pin(self.ask(move |to| Question::Holdings { job, to }))
    }

    fn workers(&self) -> Answer<'_, Vec<WorkerStatus>> {
        Box::pin(self.ask(|to| Question::Workers { to }))
    }
}
