//! Runs the program as its users do: real processes, a home of their own, and conditions that are waited for
//! instead of slept for. A process that a test has started ends with the test.
#![allow(dead_code)] // Every test file uses its own part of this module.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longer than anything here takes, even on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// A user: a home directory, and nothing inherited that would change what the program does.
pub struct User {
    home: tempfile::TempDir,
}

/// What a finished command left.
#[derive(Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl User {
    pub fn new() -> User {
        User {
            home: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    /// A path in the user's home.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a file into the user's home.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("the test's own file is written");
        path
    }

    /// Everything that is in the user's home, sorted.
    pub fn all_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.home.path().to_path_buf()];
        while let Some(dir) = open.pop() {
            for entry in std::fs::read_dir(&dir).expect("the test's own directory is read") {
                let path = entry.expect("a directory entry").path();
                if path.is_dir() {
                    open.push(path.clone());
                }
                found.push(path);
            }
        }
        found.sort();
        found
    }

    /// The command, not started yet; it works in the user's home.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_antipode"));
        command
            .args(arguments)
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("XDG_DATA_HOME", self.home.path().join("data-home"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the words of `line` to the end.
    pub fn run(&self, line: &str) -> Output {
        self.run_words(line.split_whitespace())
    }

    /// Runs to the end.
    pub fn run_words<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Output {
        self.start_words(arguments).finish()
    }

    /// Starts the words of `line`.
    pub fn start(&self, line: &str) -> Process {
        self.start_words(line.split_whitespace())
    }

    /// Starts a process.
    pub fn start_words<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Process {
        Process::of(self.command(arguments))
    }

    /// Runs a command that must succeed with one JSON object on stdout.
    pub fn json(&self, line: &str) -> serde_json::Value {
        self.run(line).json()
    }

    /// Starts a coordinator on a free port; gives it and its address.
    pub fn coordinator(&self, data: &str) -> (Process, String) {
        let mut process = self.start(&format!("coordinator --data {data} --listen 127.0.0.1:0"));
        let line = process.wait_for_line("coordinator listening on ");
        let address = line
            .split_whitespace()
            .nth(3)
            .expect("an address")
            .trim_end_matches(',')
            .to_string();
        process.wait_for_line("access file");
        (process, address)
    }
}

impl Output {
    /// The one JSON object on stdout of a command that succeeded.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The counts of the printed level table.
    #[track_caller]
    pub fn level_counts(&self) -> Vec<u64> {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
            .lines()
            .take_while(|line| !line.is_empty())
            // The heading, which comes again where a column is added.
            .filter(|line| !line.trim_start().starts_with("level"))
            .map_while(|line| {
                let cells: Vec<u64> = line
                    .split_whitespace()
                    .map_while(|cell| cell.parse().ok())
                    .collect();
                (cells.len() >= 3).then(|| cells[1])
            })
            .collect()
    }

    /// Asserts that this was refused as bad input, with a message that has all of `parts`.
    #[track_caller]
    pub fn is_refused(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert!(self.stdout.is_empty(), "nothing on stdout: {self:?}");
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "the message must say '{part}': {}",
                self.stderr
            );
        }
    }
}

/// A running process, killed when dropped.
pub struct Process {
    child: Child,
    shown: String,
    stderr: Receiver<String>,
    said: String,
    stdout: Option<std::thread::JoinHandle<String>>,
}

impl Process {
    /// Starts a command made by [`User::command`].
    pub fn of(mut command: Command) -> Process {
        let shown = format!("{command:?}");
        let mut child = command.spawn().expect("the program starts");
        let mut out = child.stdout.take().expect("stdout is piped");
        let stdout = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = out.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let err = child.stderr.take().expect("stderr is piped");
        let (sender, stderr) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(err).split(b'\n').map_while(Result::ok) {
                if sender
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    break;
                }
            }
        });
        Process {
            child,
            shown,
            stderr,
            said: String::new(),
            stdout: Some(stdout),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until stderr has a line that contains `part`, and gives it.
    #[track_caller]
    pub fn wait_for_line(&mut self, part: &str) -> String {
        self.wait_for(part, |line| line.contains(part))
    }

    /// Waits until stderr has a line of the level table for `level` or later (printed there with `--json`).
    #[track_caller]
    pub fn wait_for_level(&mut self, level: u32) {
        self.wait_for(&format!("level {level}"), |line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            cells.len() == 3 && cells[0].parse::<u32>().is_ok_and(|found| found >= level)
        });
    }

    #[track_caller]
    fn wait_for(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self
                .stderr
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                    if is_it(&line) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("{}: no '{what}' in time; said: {}", self.shown, self.said)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!(
                        "{}: ended without '{what}'; said: {}",
                        self.shown, self.said
                    )
                }
            }
        }
    }

    /// Sends a signal, e.g. `INT` or `TERM`.
    pub fn signal(&self, name: &str) {
        let signal = match name {
            "INT" => rustix::process::Signal::INT,
            "TERM" => rustix::process::Signal::TERM,
            "KILL" => rustix::process::Signal::KILL,
            "STOP" => rustix::process::Signal::STOP,
            "CONT" => rustix::process::Signal::CONT,
            other => panic!("no signal {other} here"),
        };
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the process is there to be signalled");
    }

    /// Waits for the end.
    #[track_caller]
    pub fn finish(mut self) -> Output {
        let status = self.wait();
        let stdout = self
            .stdout
            .take()
            .and_then(|reader| reader.join().ok())
            .unwrap_or_default();
        while let Ok(line) = self.stderr.recv_timeout(PATIENCE) {
            self.said.push_str(&line);
            self.said.push('\n');
        }
        Output {
            code: status.code(),
            stdout,
            stderr: std::mem::take(&mut self.said),
        }
    }

    #[track_caller]
    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // The standard library has no wait with a limit; the poll is short and bounded.
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "{} does not end; said: {}",
                self.shown,
                self.said
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// So many workers `w0`, `w1`, ... with a thread and a folder each, once the coordinator has them all.
pub fn workers(user: &User, number: usize) -> Vec<Process> {
    let start = |k| user.start(&format!("worker --data worker{k} --name w{k} --threads 1"));
    let started: Vec<Process> = (0..number).map(start).collect();
    eventually("all workers are connected", || {
        let list = user.json("workers --json");
        let connected = |all: &Vec<Value>| all.iter().filter(|w| w["connected"] == true).count();
        list["workers"].as_array().map_or(0, connected) == number
    });
    started
}

/// The index of a software device, or of any; none where there is none, which is said.
pub fn vulkan_device(user: &User) -> Option<u64> {
    let list = user.json("gpu list --json");
    fits("gpu-list", &list);
    let devices = list["devices"].as_array().expect("a list");
    let software = devices.iter().find(|device| device["kind"] == "software");
    let index = software
        .or(devices.first())
        .and_then(|device| device["index"].as_u64());
    if index.is_none() {
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!in_ci, "in CI there must be a Vulkan device: {list}");
        eprintln!("NOT TESTED, no Vulkan device: {}", list["missing"]);
    }
    index
}

/// Waits until `is_true`, asking again and again.
#[track_caller]
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A schema of `docs/schema`, checked itself.
pub fn schema(name: &str) -> jsonschema::Validator {
    let path = repository().join(format!("docs/schema/{name}.schema.json"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    jsonschema::draft202012::meta::validate(&schema)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    jsonschema::draft202012::new(&schema)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Asserts that an object is what its schema says.
#[track_caller]
pub fn fits(name: &str, value: &Value) {
    let errors: Vec<String> = schema(name)
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}\n{value:#}");
}

/// Level counts of the pocket cube, quarter turns: `shared` vectors `pocketcube.json`.
pub const POCKET_LEVELS: [u64; 15] = [
    1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588, 1350852, 782536, 90280, 276,
];
