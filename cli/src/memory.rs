//! Sizes in bytes as users write and read them, and how much memory there is.

use bytesize::ByteSize;

/// Reads `8GiB`, `500MB`, `1.5 GiB` or plain bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a size; write it like 8GiB, 500MB or 1073741824");
    let size: ByteSize = text.parse().map_err(|_| wrong())?;
    if size.as_u64() == 0 {
        return Err(format!(
            "'{text}' is no memory at all; write a size like 8GiB"
        ));
    }
    Ok(size.as_u64())
}

/// `7.3 GiB`.
pub fn show(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}

/// A size as a flag takes it, rounded up to whole MiB: `305MiB`.
pub fn flag(bytes: u64) -> String {
    format!("{}MiB", bytes.div_ceil(1 << 20))
}

/// What `--memory` is without the flag: 80 % of the memory that is available now.
pub fn default_bytes() -> u64 {
    available_bytes() / 5 * 4
}

/// Memory that this process may still take. Where the system does not say: 2 GiB, a guess that
/// any machine of today honours.
pub fn available_bytes() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| kib_line(&text, "MemAvailable:"))
        .unwrap_or(2 << 30);
    container_bytes().map_or(machine, |limit| limit.min(machine))
}

/// Largest resident memory of this process so far; 0 where the system does not say.
pub fn own_peak_bytes() -> u64 {
    antipode_worker::process_memory_bytes().1
}

/// Allocations of this size and above go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVE_BACK_BYTES: i32 = 1 << 20;

/// Makes the allocator give freed frontiers back to the system at once. glibc by itself raises its limit for that
/// to 32 MiB: frontiers then leave holes in the heap, and a run takes half as much again as `--memory` allows.
/// To be called before there are threads.
pub fn give_back_what_is_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)]
    // SAFETY: mallopt only sets a parameter of the allocator, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, GIVE_BACK_BYTES);
    }
}

/// Makes [`own_peak_bytes`] start again from the memory in use now, where the system can.
pub fn forget_own_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// What a control group (container, Slurm, systemd) leaves to us.
fn container_bytes() -> Option<u64> {
    let read = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{name}"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

fn kib_line(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    let kib: u64 = line[key.len()..]
        .trim()
        .trim_end_matches("kB")
        .trim()
        .parse()
        .ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_both_systems() {
        assert_eq!(parse("8GiB"), Ok(8 << 30));
        assert_eq!(parse("500MB"), Ok(500_000_000));
        assert_eq!(parse("4096"), Ok(4096));
        assert!(parse("lots").unwrap_err().contains("8GiB"));
        assert!(parse("0").is_err());
    }

    #[test]
    fn the_line_of_a_proc_file_is_found() {
        assert_eq!(
            kib_line("A: 1 kB\nMemAvailable:   20 kB\n", "MemAvailable:"),
            Some(20_480)
        );
        assert_eq!(kib_line("A: 1 kB\n", "MemAvailable:"), None);
    }
}
