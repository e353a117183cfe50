//! Networks that hold back, cut off and repeat.

use crate::common::eventually;
use crate::proxy::Proxy;
use crate::stage::{Stage, WORKERS};

const TIMES: usize = 20;

/// A stage in which worker 0 reaches the coordinator over a proxy.
fn with_proxy() -> (Stage, Proxy) {
    let mut stage = Stage::prepared("", "", vec![String::new(); WORKERS]);
    let proxy = Proxy::to(stage.address());
    stage.worker_through(0, &proxy.address);
    stage.start_all();
    // One that was never there cannot fall silent.
    eventually("all workers are there", || {
        let list = stage.user.json("workers --json");
        let list = list["workers"].as_array().expect("a list").clone();
        list.iter().filter(|w| w["connected"] == true).count() == WORKERS
    });
    stage.submit();
    (stage, proxy)
}

#[test]
fn connections_are_cut_again_and_again() {
    let (mut stage, proxy) = with_proxy();
    let mut levels = 2;
    for _ in 0..TIMES {
        levels = stage.reach(levels) + 1;
        proxy.cut();
        std::thread::sleep(std::time::Duration::from_millis(60));
        proxy.heal();
    }
    stage.finish();
    assert_eq!(stage.faults, TIMES);
}

/// In one direction or both, sometimes past the lease.
#[test]
fn the_network_holds_messages_back_again_and_again() {
    let (mut stage, proxy) = with_proxy();
    let mut levels = 2;
    for round in 0..TIMES {
        levels = stage.reach(levels) + 1;
        proxy.hold(round % 3 != 1, round % 3 != 0);
        if round % 5 == 0 && round % 3 != 1 {
            eventually("the silence is noticed", || {
                let list = stage.user.json("workers --json");
                let list = list["workers"].as_array().expect("a list").clone();
                list.iter().any(|w| w["connected"] == false)
            });
        } else {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        proxy.heal();
    }
    stage.finish();
    assert_eq!(stage.faults, TIMES);
}
