//! Memory of a device, as arrays of 32-bit words: where kernels work, and where data come and go.

use super::Device;
use super::device::Shared;
use crate::error::GpuError;
use ash::vk;
use rayon::prelude::*;
use std::ptr::NonNull;
use std::sync::Arc;

/// What a buffer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The device's own memory: what kernels read and write.
    Device,
    /// Memory that the machine writes and the device copies from.
    Upload,
    /// Memory that the device copies to and the machine reads.
    Download,
}

/// An array of words. It has at least one.
pub(crate) struct Buffer {
    pub(super) memory: Arc<Memory>,
}

/// What a buffer is made of; submissions hold on to it until they are over.
pub(super) struct Memory {
    pub shared: Arc<Shared>,
    pub raw: vk::Buffer,
    pub place: Place,
    memory: vk::DeviceMemory,
    words: usize,
    /// Where the machine sees it; only for upload and download.
    map: Option<NonNull<u32>>,
}

// SAFETY: Vulkan's handles may be used by any thread. The mapping is memory that only methods of `Buffer` touch: it is
// written through `&mut Buffer` alone, and neither read nor written while a submission holds on to it.
unsafe impl Send for Memory {}
// SAFETY: as above; through a shared reference it is only read.
unsafe impl Sync for Memory {}

impl Device {
    /// A new buffer of `words` words, whose content is anything.
    ///
    /// # Errors
    /// More than [`Device::max_buffer_bytes`], no memory left, and what the driver says.
    pub(crate) fn buffer(&self, words: usize, place: Place) -> Result<Buffer, GpuError> {
        let shared = &self.shared;
        shared.check()?;
        let bytes = 4 * words.max(1) as u64;
        if bytes > self.max_buffer_bytes() {
            return Err(shared.misuse(format!(
                "a buffer of {bytes} bytes was asked for; {} is the most",
                self.max_buffer_bytes()
            )));
        }
        let usage = match place {
            Place::Device => {
                vk::BufferUsageFlags::STORAGE_BUFFER
                    | vk::BufferUsageFlags::TRANSFER_SRC
                    | vk::BufferUsageFlags::TRANSFER_DST
            }
            Place::Upload => vk::BufferUsageFlags::TRANSFER_SRC,
            Place::Download => vk::BufferUsageFlags::TRANSFER_DST,
        };
        let info = vk::BufferCreateInfo::default()
            .size(bytes)
            .usage(usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the device is alive, `info` is complete, its size is not zero.
        let raw = unsafe { shared.raw.create_buffer(&info, None) }
            .map_err(|code| out_of(shared, bytes, "making a buffer", code))?;
        // From here on dropping the buffer frees what there is of it.
        let mut memory = Memory {
            shared: Arc::clone(shared),
            raw,
            place,
            memory: vk::DeviceMemory::null(),
            words: words.max(1),
            map: None,
        };
        memory.allocate(bytes)?;
        Ok(Buffer {
            memory: Arc::new(memory),
        })
    }
}

impl Memory {
    fn allocate(&mut self, bytes: u64) -> Result<(), GpuError> {
        let shared = &self.shared;
        // SAFETY: the buffer was made from this device.
        let needs = unsafe { shared.raw.get_buffer_memory_requirements(self.raw) };
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(memory_type(shared, self.place, needs.memory_type_bits)?);
        // SAFETY: the type is one that the buffer allows; the memory is bound once, at 0, where any alignment holds.
        unsafe {
            self.memory = shared
                .raw
                .allocate_memory(&info, None)
                .map_err(|code| out_of(shared, bytes, "taking memory", code))?;
            shared
                .raw
                .bind_buffer_memory(self.raw, self.memory, 0)
                .map_err(|code| out_of(shared, bytes, "binding memory", code))?;
        }
        if self.place != Place::Device {
            // SAFETY: the memory's type is visible to the machine, and it is mapped once.
            let map = unsafe {
                shared
                    .raw
                    .map_memory(self.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
            }
            .map_err(|code| out_of(shared, bytes, "mapping memory", code))?;
            self.map = NonNull::new(map.cast());
        }
        Ok(())
    }

    /// Changes the last bit of a word of a download buffer: a planted fault.
    pub fn spoil(&self, word: usize) {
        if let (Place::Download, Some(map), true) = (self.place, self.map, word < self.words) {
            // SAFETY: the buffer has such a word, and the device has finished with it.
            unsafe {
                let word = map.add(word);
                word.write(word.read() ^ 1);
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.shared.is_at_rest() {
            // SAFETY: submissions hold on to what they use, so none does; nobody else can. Null handles are ignored, and
            // freeing memory ends its mapping.
            unsafe {
                self.shared.raw.destroy_buffer(self.raw, None);
                self.shared.raw.free_memory(self.memory, None);
            }
        }
    }
}

impl Buffer {
    /// Number of words.
    pub fn words(&self) -> usize {
        self.memory.words
    }

    /// Writes `words` at the beginning of an upload buffer.
    ///
    /// # Errors
    /// Another kind of buffer, a shorter one, or one that the device is using.
    pub fn write(&mut self, words: &[u32]) -> Result<(), GpuError> {
        let map = self.mapped(Place::Upload, words.len())?;
        // SAFETY: the mapping has at least as many words, is aligned for any type, and no submission uses it.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), map.as_ptr(), words.len()) };
        Ok(())
    }

    /// Writes 64-bit words at the beginning of an upload buffer, two words each, the lower half first.
    ///
    /// # Errors
    /// As [`Buffer::write`].
    pub fn write_pairs(&mut self, pairs: &[u64]) -> Result<(), GpuError> {
        let map = Mapped(self.mapped(Place::Upload, 2 * pairs.len())?);
        pairs
            .par_chunks(AT_ONCE)
            .enumerate()
            .for_each(|(k, pairs)| {
                let map = map.at(2 * k * AT_ONCE);
                for (at, pair) in pairs.iter().enumerate() {
                    // SAFETY: as in `write`; every thread writes its own part.
                    unsafe {
                        map.add(2 * at).write(*pair as u32);
                        map.add(2 * at + 1).write((*pair >> 32) as u32);
                    }
                }
            });
        Ok(())
    }

    /// Reads the beginning of a download buffer.
    ///
    /// # Errors
    /// As [`Buffer::write`].
    pub fn read(&self, out: &mut [u32]) -> Result<(), GpuError> {
        let map = self.mapped(Place::Download, out.len())?;
        // SAFETY: as in `write`; memory that was never written is somebody's bits, but initialised for the machine.
        unsafe { std::ptr::copy_nonoverlapping(map.as_ptr(), out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    /// Reads 64-bit words of a download buffer from word `first` on, as [`Buffer::write_pairs`] writes them.
    ///
    /// # Errors
    /// As [`Buffer::write`].
    pub fn read_pairs(&self, first: usize, out: &mut [u64]) -> Result<(), GpuError> {
        let map = Mapped(self.mapped(Place::Download, first + 2 * out.len())?);
        out.par_chunks_mut(AT_ONCE)
            .enumerate()
            .for_each(|(k, out)| {
                let map = map.at(first + 2 * k * AT_ONCE);
                for (at, pair) in out.iter_mut().enumerate() {
                    // SAFETY: as in `read`.
                    let (low, high) =
                        unsafe { (map.add(2 * at).read(), map.add(2 * at + 1).read()) };
                    *pair = u64::from(low) | u64::from(high) << 32;
                }
            });
        Ok(())
    }

    /// Appends the bytes of the first `rows` rows of a download buffer, which have `row_words` words each, as they lie in
    /// memory; of each row the first `row_bytes`.
    ///
    /// # Errors
    /// Another kind of buffer, or a shorter one.
    pub fn read_rows(
        &self,
        rows: usize,
        row_words: usize,
        row_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), GpuError> {
        let words = rows.saturating_mul(row_words);
        let map = self.mapped(Place::Download, words)?;
        // SAFETY: as in `read`: so many words are there, and nobody writes them while the buffer is borrowed here.
        let bytes = unsafe { std::slice::from_raw_parts(map.as_ptr().cast::<u8>(), 4 * words) };
        if row_bytes == 4 * row_words {
            out.extend_from_slice(bytes);
            return Ok(());
        }
        out.reserve(rows * row_bytes.min(4 * row_words));
        for row in bytes.chunks_exact(4 * row_words.max(1)) {
            out.extend_from_slice(row.get(..row_bytes).unwrap_or(row));
        }
        Ok(())
    }

    fn mapped(&self, place: Place, words: usize) -> Result<NonNull<u32>, GpuError> {
        let memory = &*self.memory;
        memory.shared.check()?;
        if memory.place != place || words > memory.words {
            return Err(memory.shared.misuse(format!(
                "{words} words of a buffer of {} for {:?} were asked for, as {place:?}",
                memory.words, memory.place
            )));
        }
        if Arc::strong_count(&self.memory) > 1 {
            return Err(memory.shared.misuse("a buffer is in use by the device"));
        }
        memory
            .map
            .ok_or_else(|| memory.shared.misuse("a buffer is not mapped"))
    }
}

/// Pairs that one thread copies: more than one thread is needed to keep up with a card.
const AT_ONCE: usize = 1 << 15;

/// A mapping whose parts go to several threads.
#[derive(Clone, Copy)]
struct Mapped(NonNull<u32>);

// SAFETY: whoever has one touches no word that another thread writes; see `write_pairs` and `read_pairs`.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// The mapping from this word on, which is inside it.
    fn at(self, word: usize) -> *mut u32 {
        self.0.as_ptr().wrapping_add(word)
    }
}

/// The type of memory for a place, best first; the specification promises one that the machine sees.
fn memory_type(shared: &Shared, place: Place, allowed: u32) -> Result<u32, GpuError> {
    use vk::MemoryPropertyFlags as Flags;
    let visible = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    let wishes = match place {
        Place::Device => [Flags::DEVICE_LOCAL, Flags::empty()],
        Place::Upload => [visible, visible],
        Place::Download => [visible | Flags::HOST_CACHED, visible],
    };
    let types = shared.memory.memory_types_as_slice();
    for wish in wishes {
        let fits = |&at: &usize| allowed >> at & 1 == 1 && types[at].property_flags.contains(wish);
        if let Some(at) = (0..types.len()).find(fits) {
            return Ok(at as u32);
        }
    }
    Err(shared.misuse(format!("no memory for a buffer of {place:?}")))
}

/// An error of memory knows how much was asked for.
fn out_of(shared: &Shared, asked: u64, what: &'static str, code: vk::Result) -> GpuError {
    match shared.failed(what, code) {
        GpuError::OutOfMemory { device, .. } => GpuError::OutOfMemory {
            device,
            bytes: asked,
        },
        other => other,
    }
}
