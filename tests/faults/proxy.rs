//! A stretch of network that tests can break: it passes bytes on, holds them back in one direction or
//! both, or cuts every connection.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

#[derive(Default)]
struct Switches {
    hold_up: AtomicBool,
    hold_down: AtomicBool,
    refuse: AtomicBool,
    over: AtomicBool,
}

/// Listens on a port of its own and passes on to `target`.
pub struct Proxy {
    pub address: String,
    switches: Arc<Switches>,
}

impl Proxy {
    pub fn to(target: String) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address").to_string();
        let switches = Arc::new(Switches::default());
        let shared = switches.clone();
        std::thread::spawn(move || {
            for incoming in listener.incoming().flatten() {
                if shared.over.load(SeqCst) {
                    return;
                }
                if shared.refuse.load(SeqCst) {
                    continue;
                }
                let Ok(outgoing) = TcpStream::connect(&target) else {
                    continue;
                };
                let (up, down) = (shared.clone(), shared.clone());
                let (a, b) = (incoming.try_clone(), outgoing.try_clone());
                let (Ok(a), Ok(b)) = (a, b) else { continue };
                std::thread::spawn(move || pass(a, outgoing, &up, |s| &s.hold_up));
                std::thread::spawn(move || pass(b, incoming, &down, |s| &s.hold_down));
            }
        });
        Proxy { address, switches }
    }

    /// Nothing gets through from the workers, or to them, or neither; connections stay open.
    pub fn hold(&self, up: bool, down: bool) {
        self.switches.hold_up.store(up, SeqCst);
        self.switches.hold_down.store(down, SeqCst);
    }

    /// Every connection is cut, and new ones too until `heal`.
    pub fn cut(&self) {
        self.switches.refuse.store(true, SeqCst);
    }

    pub fn heal(&self) {
        self.switches.refuse.store(false, SeqCst);
        self.hold(false, false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.switches.over.store(true, SeqCst);
        self.cut();
        // Wakes the listener.
        let _ = TcpStream::connect(&self.address);
    }
}

fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    switches: &Switches,
    hold: impl Fn(&Switches) -> &AtomicBool,
) {
    let _ = from.set_read_timeout(Some(Duration::from_millis(20)));
    let mut buffer = [0; 64 << 10];
    loop {
        if switches.refuse.load(SeqCst) {
            break;
        }
        if hold(switches).load(SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) if to.write_all(&buffer[..n]).is_ok() => {}
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ) => {}
            _ => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
