//! A simulation that finds nothing proves nothing: each of these deliberate faults must be caught.

use antipode_sim::mutants::{CoreMutant, Mutant, SimMutant};
use antipode_sim::{Backing, Options, Tracing, run};

/// Runs seeds until one goes wrong.
fn is_caught(mutant: Mutant, within: u64) {
    let silent = std::panic::take_hook();
    // A panic of a mutant is a catch, and not for anybody to read.
    std::panic::set_hook(Box::new(|_| {}));
    let options = Options {
        backing: Backing::Model,
        mutant: Some(mutant),
        faults: true,
        tracing: Tracing::Off,
    };
    let caught = (0..within).find_map(|seed| Some((seed, run(seed, options).verdict.err()?)));
    std::panic::set_hook(silent);
    match caught {
        Some((seed, how)) => eprintln!("{mutant:?}: caught by seed {seed}: {how:.160}"),
        None => panic!("{mutant:?} was not caught by {within} seeds"),
    }
}

macro_rules! mutants {
    ($($name:ident: $mutant:expr, within $seeds:literal;)*) => {
        $(#[test]
        fn $name() {
            is_caught($mutant, $seeds);
        })*
    };
}

mutants! {
    a_stale_failure_frees_the_new_lease: Mutant::Core(CoreMutant::StaleFailedFreesLease), within 3000;
    the_leases_of_a_lost_worker_are_forgotten: Mutant::Core(CoreMutant::ForgetToRequeue), within 300;
    a_result_counts_twice: Mutant::Core(CoreMutant::CountTwice), within 300;
    a_task_is_ready_without_its_own_last_level: Mutant::Core(CoreMutant::ReadyWithoutOwnLevel), within 1000;
    a_checkpoint_is_dropped: Mutant::Core(CoreMutant::DropCheckpoint), within 1000;
    a_pause_does_not_wait_for_its_checkpoint: Mutant::Core(CoreMutant::PauseWithoutCheckpoint), within 1000;
    a_result_is_told_before_it_is_stored: Mutant::Sim(SimMutant::AcknowledgeBeforePersist), within 300;
    a_start_is_not_counted: Mutant::Sim(SimMutant::RestartWithoutEpoch), within 300;
    a_wrong_checksum_is_accepted: Mutant::Sim(SimMutant::AcceptWrongChecksum), within 3000;
    durable_is_said_too_early: Mutant::Sim(SimMutant::DurableBeforeSynced), within 1000;
}
