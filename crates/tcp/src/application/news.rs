//! What an application that asks for something tells: that it has asked, and that it was answered.

use std::collections::VecDeque;

use lockgate_engine::units::Instant;

/// One thing to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Something was asked.
    Asked,
    /// What was asked at this time is answered.
    Answered(Instant),
}

/// What was not told yet, in its order.
#[derive(Default)]
pub(super) struct Untold(VecDeque<News>);

impl Untold {
    pub(super) fn push(&mut self, news: News) {
        self.0.push_back(news);
    }

    pub(super) fn take(&mut self) -> Option<News> {
        self.0.pop_front()
    }
}
