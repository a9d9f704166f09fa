//! Loops over batches of values, compiled also for processors with wide vectors.
//!
//! The crates are compiled for every processor of an architecture. The loops that count the delays of a batch
//! take half the time with vectors of 256 bits, which nearly all processors of the last ten years have. Which
//! of the two machine codes runs changes no result: the loops are of integers. Decision 004.

#[cfg(feature = "vectors")]
use pulp::Arch;

/// Work that is compiled for each width of vectors. `call`, and what it calls in its loops, must be
/// `#[inline(always)]`: a function that is not inlined loses the wide vectors, and closures may not be
/// inlined.
#[cfg(feature = "vectors")]
pub(crate) use pulp::NullaryFnOnce as Work;

/// Work that is compiled once.
#[cfg(not(feature = "vectors"))]
pub(crate) trait Work {
    /// Its result.
    type Output;
    /// Does it.
    fn call(self) -> Self::Output;
}

/// Does the work with the widest vectors of this processor.
#[inline]
pub(crate) fn vectorised<W: Work>(work: W) -> W::Output {
    #[cfg(feature = "vectors")]
    return Arch::new().dispatch(work);
    #[cfg(not(feature = "vectors"))]
    work.call()
}
