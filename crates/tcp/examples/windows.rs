//! Prints how the congestion window of each congestion control reacts to a loss after ten acknowledged
//! rounds.
#![allow(clippy::print_stdout, reason = "an example prints")]

use lockgate_engine::units::{Duration, Instant};
use lockgate_scenario::tcp::Congestion;
use lockgate_tcp::application::Application;
use lockgate_tcp::congestion::create;
use lockgate_tcp::endpoint::{Endpoint, Role};
use lockgate_tcp::{ReceiverConfig, SenderConfig, TimerWheel};

fn end(role: Role, congestion: Congestion, application: Application) -> Endpoint {
    let (minimum_rto, delayed_ack) = (Duration::from_millis(200), Duration::ZERO);
    let (window, sack, ecn, wheel) = (1 << 24, true, false, TimerWheel::EXACT);
    let sender = SenderConfig { mss: 1448, initial_window: 10, minimum_rto, sack, ecn, pacing: false, wheel };
    let receiver = ReceiverConfig { window, delayed_ack, quick_acks: 0, sack, ecn, exact_echo: false, wheel };
    Endpoint::new(role, (sender, receiver), create(congestion), 1514, application)
}

fn main() {
    for congestion in [Congestion::Reno, Congestion::Cubic] {
        let mut now = Instant::ZERO;
        let mut client = end(Role::Active(now), congestion, Application::Unlimited);
        let mut server = end(Role::Passive, congestion, Application::Sink);
        for round in 0..14 {
            client.on_timer(now);
            now = now + Duration::from_millis(50);
            let sent: Vec<_> = core::iter::from_fn(|| client.poll(now)).take(400).collect();
            let arrived = sent.iter().skip(usize::from(round == 9));
            arrived.for_each(|departure| {
                let _ = server.on_segment(&departure.segment, false, now);
            });
            while let Some(departure) = server.poll(now) {
                let _ = client.on_segment(&departure.segment, false, now);
            }
            println!("{} round {round}: {} segments", congestion.name(), client.window().0);
        }
    }
}
