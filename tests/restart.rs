//! `worker --restart`: crashes are survived, ends are ends, and nothing is left behind.

mod common;

use common::{Process, User, eventually};
use std::path::PathBuf;

/// The one child of a process.
fn child_of(pid: u32) -> Option<u32> {
    let file = PathBuf::from(format!("/proc/{pid}/task/{pid}/children"));
    let text = std::fs::read_to_string(file).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn is_alive(pid: u32) -> bool {
    // A process that nobody has waited for yet is none.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|text| {
        !text
            .rsplit(')')
            .next()
            .unwrap_or("")
            .trim_start()
            .starts_with('Z')
    })
}

fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a process id");
    rustix::process::kill_process(pid, signal).expect("it is there");
}

fn connected(user: &User) -> usize {
    let list = user.json("workers --json");
    list["workers"].as_array().map_or(0, |all| {
        all.iter().filter(|w| w["connected"] == true).count()
    })
}

fn supervised(user: &User) -> (Process, u32) {
    let process = user.start("worker --data worker --name w --threads 1 --restart");
    eventually("the worker is connected", || connected(user) == 1);
    let child = child_of(process.pid()).expect("a child");
    (process, child)
}

#[test]
fn a_worker_that_crashes_is_started_again_and_a_signal_ends_both() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let (mut supervisor, mut child) = supervised(&user);
    for signal in [
        rustix::process::Signal::KILL,
        rustix::process::Signal::ABORT,
    ] {
        kill(child, signal);
        let line = supervisor.wait_for_line("supervisor: the worker");
        assert!(
            line.contains(&format!("was ended by signal {}", signal.as_raw())),
            "{line}"
        );
        // What its next start tells the coordinator.
        supervisor.wait_for_line("did not end cleanly");
        eventually("there is a new one", || {
            child_of(supervisor.pid()).is_some_and(|new| new != child) && connected(&user) == 1
        });
        child = child_of(supervisor.pid()).expect("a child");
    }
    supervisor.signal("TERM");
    let output = supervisor.finish();
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stderr.contains("worker ended"), "{output:?}");
    assert!(!is_alive(child));
}

#[test]
fn a_worker_does_not_outlive_its_supervisor() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let (supervisor, child) = supervised(&user);
    supervisor.signal("KILL");
    eventually("the worker is gone", || !is_alive(child));
}

#[test]
fn a_restarted_worker_waits_for_a_coordinator_that_is_away() {
    let user = User::new();
    let (coordinator, address) = user.coordinator("coordinator");
    let (mut supervisor, child) = supervised(&user);
    coordinator.signal("KILL");
    let _ = coordinator.finish();
    kill(child, rustix::process::Signal::KILL);
    supervisor.wait_for_line("starting it again");
    supervisor.wait_for_line("worker w starting");
    let listen = format!("coordinator --data coordinator --listen {address}");
    let mut coordinator = user.start(&listen);
    coordinator.wait_for_line("access file");
    eventually("it is found", || connected(&user) == 1);
    supervisor.signal("INT");
    assert_eq!(supervisor.finish().code, Some(0));
}

#[test]
fn what_the_user_has_to_mend_is_not_tried_again() {
    let user = User::new();
    let line = "worker --data worker --restart --coordinator 127.0.0.1:1";
    user.run(line).is_refused(&["no coordinator answers"]);
    assert!(!user.path("worker").exists());
}
