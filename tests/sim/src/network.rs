//! The network: control connections are streams that keep their order, may be slow, silent in one
//! direction, or broken, with either end learning of it late; between workers single messages travel.

use crate::clock::{MILLI, Micros, SECOND};
use antipode_proto::message::{FromWorker, ToWorker};
use rand::Rng;
use rand::rngs::StdRng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A machine: the coordinator's, or one of the workers'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    Coordinator,
    Worker(usize),
}

/// Names a control connection; never used twice.
pub type ConnId = u64;

/// One direction of a connection.
#[derive(Debug)]
pub struct Half<M> {
    pub from: Node,
    pub to: Node,
    /// Sent, not yet taken by the receiver.
    queue: VecDeque<M>,
    /// When the last one of them arrives.
    last: Micros,
    /// Arrived while the way was blocked: each waits for the way to be free.
    held: usize,
    /// After what is in the queue the receiver sees the end.
    closed: bool,
    /// The receiver is gone, or has seen the end.
    deaf: bool,
}

/// What the receiver gets.
#[derive(Debug)]
pub enum Arrival<M> {
    Message(M),
    End,
    Nothing,
}

impl<M> Half<M> {
    fn new(from: Node, to: Node) -> Half<M> {
        Half {
            from,
            to,
            queue: VecDeque::new(),
            last: 0,
            held: 0,
            closed: false,
            deaf: false,
        }
    }

    fn take(&mut self, now: Micros) -> Arrival<M> {
        if self.deaf {
            return Arrival::Nothing;
        }
        match self.queue.pop_front() {
            Some(message) => Arrival::Message(message),
            // What was dropped on the way is still looked for at its time.
            None if self.closed && now >= self.last => {
                self.deaf = true;
                Arrival::End
            }
            None => Arrival::Nothing,
        }
    }

    /// All that is under way arrives now: so many messages.
    fn hurry(&mut self, now: Micros) -> usize {
        self.last = now;
        self.queue.len()
    }

    fn is_over(&self) -> bool {
        self.deaf
    }
}

/// A control connection between one process of a worker and one of the coordinator.
#[derive(Debug)]
pub struct Connection {
    pub worker: usize,
    pub up: Half<FromWorker>,
    pub down: Half<ToWorker>,
}

/// Which half of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the coordinator.
    Up,
    /// To the worker.
    Down,
}

#[derive(Debug, Default)]
pub struct Network {
    pub connections: BTreeMap<ConnId, Connection>,
    next: ConnId,
    /// Nothing gets from the first to the second.
    blocked: BTreeSet<(Node, Node)>,
    /// Everything from the first to the second takes up to this much longer.
    slow: BTreeMap<(Node, Node), Micros>,
    /// So many answers of the data plane will be delivered twice.
    pub duplicates: u32,
    /// So many of them will be damaged on the way.
    pub damages: u32,
}

/// Something arrives at this time; ask for it then.
pub type Due = (Micros, ConnId, Way);

impl Network {
    /// How long something takes from one machine to another.
    pub fn delay(&self, from: Node, to: Node, rng: &mut StdRng) -> Micros {
        let slow = self.slow.get(&(from, to)).copied().unwrap_or(0);
        rng.random_range(200..3 * MILLI)
            + if slow > 0 {
                rng.random_range(0..slow)
            } else {
                0
            }
    }

    pub fn is_blocked(&self, from: Node, to: Node) -> bool {
        self.blocked.contains(&(from, to))
    }

    pub fn block(&mut self, from: Node, to: Node) {
        self.blocked.insert((from, to));
    }

    pub fn slow_down(&mut self, from: Node, to: Node, by: Micros) {
        self.slow.insert((from, to), by);
    }

    pub fn speed_up(&mut self, from: Node, to: Node) {
        self.slow.remove(&(from, to));
    }

    /// The way is free again: what waited arrives.
    pub fn unblock(&mut self, now: Micros, from: Node, to: Node) -> Vec<Due> {
        self.blocked.remove(&(from, to));
        let mut due = Vec::new();
        for (&id, connection) in &mut self.connections {
            let (up, down) = (&mut connection.up, &mut connection.down);
            if (up.from, up.to) == (from, to) {
                due.extend((0..std::mem::take(&mut up.held)).map(|_| (now, id, Way::Up)));
            }
            if (down.from, down.to) == (from, to) {
                due.extend((0..std::mem::take(&mut down.held)).map(|_| (now, id, Way::Down)));
            }
        }
        due
    }

    /// All faults of the network end.
    pub fn calm(&mut self, now: Micros) -> Vec<Due> {
        (self.duplicates, self.damages) = (0, 0);
        self.slow.clear();
        let blocked: Vec<(Node, Node)> = self.blocked.iter().copied().collect();
        let mut due: Vec<Due> = blocked
            .into_iter()
            .flat_map(|(from, to)| self.unblock(now, from, to))
            .collect();
        // Ends that nobody has seen yet are seen.
        for (&id, connection) in &mut self.connections {
            if connection.up.closed {
                due.extend((0..=connection.up.hurry(now)).map(|_| (now, id, Way::Up)));
            }
            if connection.down.closed {
                due.extend((0..=connection.down.hurry(now)).map(|_| (now, id, Way::Down)));
            }
        }
        due
    }

    /// A new connection of a worker; both ends know of it.
    pub fn connect(&mut self, worker: usize) -> ConnId {
        self.next += 1;
        let (here, there) = (Node::Worker(worker), Node::Coordinator);
        let connection = Connection {
            worker,
            up: Half::new(here, there),
            down: Half::new(there, here),
        };
        self.connections.insert(self.next, connection);
        self.next
    }

    /// A worker says something. `None`: nobody will hear it.
    pub fn send_up(
        &mut self,
        now: Micros,
        id: ConnId,
        message: FromWorker,
        rng: &mut StdRng,
    ) -> Option<Due> {
        let delay = self.delay(
            Node::Worker(self.connections.get(&id)?.worker),
            Node::Coordinator,
            rng,
        );
        let half = &mut self.connections.get_mut(&id)?.up;
        push(half, now + delay, message).map(|at| (at, id, Way::Up))
    }

    /// The coordinator says something.
    pub fn send_down(
        &mut self,
        now: Micros,
        id: ConnId,
        message: ToWorker,
        rng: &mut StdRng,
    ) -> Option<Due> {
        let delay = self.delay(
            Node::Coordinator,
            Node::Worker(self.connections.get(&id)?.worker),
            rng,
        );
        let half = &mut self.connections.get_mut(&id)?.down;
        push(half, now + delay, message).map(|at| (at, id, Way::Down))
    }

    /// The sender of a half closes it: the receiver takes what was sent, then sees the end, `late`
    /// after now at the earliest. `kept`: how much of what is under way still arrives.
    pub fn close(
        &mut self,
        now: Micros,
        id: ConnId,
        way: Way,
        late: Micros,
        kept: usize,
    ) -> Option<Due> {
        let connection = self.connections.get_mut(&id)?;
        let at = match way {
            Way::Up => close(&mut connection.up, now + late, kept),
            Way::Down => close(&mut connection.down, now + late, kept),
        };
        at.map(|at| (at, id, way))
    }

    /// Nobody listens at this end of a half any more.
    pub fn deafen(&mut self, id: ConnId, way: Way) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        match way {
            Way::Up => connection.up.deaf = true,
            Way::Down => connection.down.deaf = true,
        }
        if connection.up.is_over() && connection.down.is_over() {
            self.connections.remove(&id);
        }
    }

    /// What has arrived at the coordinator.
    pub fn take_up(&mut self, now: Micros, id: ConnId) -> Arrival<FromWorker> {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Arrival::Nothing;
        };
        if self
            .blocked
            .contains(&(connection.up.from, connection.up.to))
        {
            connection.up.held += 1;
            return Arrival::Nothing;
        }
        connection.up.take(now)
    }

    /// What has arrived at a worker.
    pub fn take_down(&mut self, now: Micros, id: ConnId) -> Arrival<ToWorker> {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Arrival::Nothing;
        };
        if self
            .blocked
            .contains(&(connection.down.from, connection.down.to))
        {
            connection.down.held += 1;
            return Arrival::Nothing;
        }
        connection.down.take(now)
    }

    /// The connections of a worker that somebody still listens to.
    pub fn of_worker(&self, worker: usize) -> Vec<ConnId> {
        self.connections
            .iter()
            .filter(|(_, c)| c.worker == worker)
            .map(|(&id, _)| id)
            .collect()
    }

    /// Messages under way to the coordinator on a connection.
    pub fn under_way(&self, id: ConnId) -> usize {
        self.connections.get(&id).map_or(0, |c| c.up.queue.len())
    }
}

fn push<M>(half: &mut Half<M>, at: Micros, message: M) -> Option<Micros> {
    if half.closed || half.deaf {
        return None;
    }
    half.queue.push_back(message);
    half.last = half.last.max(at);
    Some(half.last)
}

fn close<M>(half: &mut Half<M>, at: Micros, kept: usize) -> Option<Micros> {
    if half.closed || half.deaf {
        return None;
    }
    half.queue.truncate(kept);
    half.closed = true;
    half.last = half.last.max(at);
    Some(half.last)
}

/// How late the end of a broken connection is noticed.
pub fn some_delay(rng: &mut StdRng) -> Micros {
    match rng.random_range(0..4) {
        0 | 1 => rng.random_range(0..5 * MILLI),
        2 => rng.random_range(0..SECOND),
        _ => rng.random_range(0..6 * SECOND),
    }
}
