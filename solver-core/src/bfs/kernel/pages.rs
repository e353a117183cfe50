//! Large zeroed buffers on huge pages: the first touch of gigabytes in 4 KiB pages costs seconds.

/// Smaller buffers are not worth the call.
const HUGE_WORDS_MIN: usize = (4 << 20) / 8;

/// A buffer of zeros whose pages come into being when they are first written.
pub(crate) fn zeroed(words: usize) -> Vec<u64> {
    let mut buffer = vec![0u64; words];
    if words >= HUGE_WORDS_MIN {
        advise_huge(&mut buffer);
    }
    buffer
}

#[cfg(target_os = "linux")]
fn advise_huge(buffer: &mut [u64]) {
    let page = rustix::param::page_size();
    let start = buffer.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(page);
    let len = (buffer.len() * 8).saturating_sub(skip) / page * page;
    // SAFETY: the range lies within the buffer; the advice changes how pages are backed, not what
    // they hold. A refusal only costs speed.
    let _ = unsafe {
        rustix::mm::madvise(
            start.add(skip).cast(),
            len,
            rustix::mm::Advice::LinuxHugepage,
        )
    };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge(_buffer: &mut [u64]) {}
