//! Memory of a device, as arrays of 32-bit words: where kernels work, and where data come and go.

use super::Device;
use super::device::Shared;
use crate::error::GpuError;
use ash::vk;
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
    pub(super) shared: Arc<Shared>,
    pub(super) raw: vk::Buffer,
    pub(super) place: Place,
    memory: vk::DeviceMemory,
    words: usize,
    /// Where the machine sees it; only for upload and download.
    map: Option<NonNull<u32>>,
}

// SAFETY: Vulkan's handles may be used by any thread; the mapping is memory that only this object's methods touch, and since it
// is not `Sync`, those of one thread at a time. A submission that uses it is over when `Device::run` returns.
unsafe impl Send for Buffer {}

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
        let mut buffer = Buffer {
            shared: Arc::clone(shared),
            raw,
            place,
            memory: vk::DeviceMemory::null(),
            words: words.max(1),
            map: None,
        };
        buffer.allocate(bytes)?;
        Ok(buffer)
    }
}

impl Buffer {
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

    /// Number of words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Writes `words` at the beginning of an upload buffer.
    ///
    /// # Errors
    /// Another kind of buffer, or a shorter one.
    pub fn write(&mut self, words: &[u32]) -> Result<(), GpuError> {
        let map = self.mapped(Place::Upload, words.len())?;
        // SAFETY: the mapping has at least as many words, is aligned for any type, and the device does not use it: a
        // submission borrows its buffers until the device has finished.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), map.as_ptr(), words.len()) };
        Ok(())
    }

    /// Reads the beginning of a download buffer.
    ///
    /// # Errors
    /// Another kind of buffer, or a shorter one.
    pub fn read(&self, out: &mut [u32]) -> Result<(), GpuError> {
        let map = self.mapped(Place::Download, out.len())?;
        // SAFETY: as in `write`; memory that was never written is somebody's bits, but initialised for the machine.
        unsafe { std::ptr::copy_nonoverlapping(map.as_ptr(), out.as_mut_ptr(), out.len()) };
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

    /// Changes the last bit of the first word of a download buffer: a planted fault.
    pub(super) fn spoil(&self) {
        if let (Place::Download, Some(map)) = (self.place, self.map) {
            // SAFETY: a buffer has at least one word, and the device has finished with it.
            unsafe { map.write(map.read() ^ 1) };
        }
    }

    fn mapped(&self, place: Place, words: usize) -> Result<NonNull<u32>, GpuError> {
        if self.place != place || words > self.words {
            return Err(self.shared.misuse(format!(
                "{words} words of a buffer of {} for {:?} were asked for, as {place:?}",
                self.words, self.place
            )));
        }
        self.shared.check()?;
        self.map
            .ok_or_else(|| self.shared.misuse("a buffer is not mapped"))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.shared.is_at_rest() {
            // SAFETY: the device does not use the buffer, since submissions are waited for; nobody else can. Null
            // handles are ignored, and freeing memory ends its mapping.
            unsafe {
                self.shared.raw.destroy_buffer(self.raw, None);
                self.shared.raw.free_memory(self.memory, None);
            }
        }
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
