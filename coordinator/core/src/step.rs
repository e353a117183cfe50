//! One event in, effects out.

use crate::effect::Effect;
use crate::event::{Event, Now};
use crate::state::Coordinator;

impl Coordinator {
    /// Takes in one event. Effects are to be performed in order.
    pub fn step(&mut self, now: Now, event: Event) -> Vec<Effect> {
        let mut out = Vec::new();
        match event {
            Event::Tick => {
                self.tick(now, &mut out);
                self.copy_databases(now, &mut out);
                self.start_checkpoints(now);
                self.touch_all();
            }
            Event::Noted { what } => self.history.push(now.unix, what),
            Event::Submit(submission) => self.submit(now, *submission, &mut out),
            Event::Cancel { request, job } => self.cancel(now, request, job, &mut out),
            Event::Pause { request, job } => self.pause(now, request, job, &mut out),
            Event::Resume {
                request,
                job,
                fresh,
            } => self.resume(now, request, (job, fresh), &mut out),
            Event::Forget { request, job } => self.forget(request, job, &mut out),
            Event::Drain { request, worker } => self.ask_to_drain(request, worker, &mut out),
            Event::Disk { full } => self.note_own_disk(now, full),
            Event::Register {
                connection,
                registration,
            } => {
                // From here on, tasks done again are counted.
                for job in self.jobs.values_mut() {
                    if std::mem::take(&mut job.is_taken_up) {
                        job.note_resumption();
                    }
                }
                self.register(now, connection, *registration, &mut out);
            }
            Event::Disconnected { connection } => self.disconnected(now, connection, &mut out),
            Event::Report { connection, report } => self.report(now, connection, report, &mut out),
        }
        while let Some(job) = self.touched.pop_first() {
            self.advance(now, job, &mut out);
            self.start_queued(now, &mut out);
        }
        self.advance_drains(&mut out);
        out
    }
}
