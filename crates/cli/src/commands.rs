//! The commands, one file each.

mod against;
mod apply;
mod attack;
mod capture;
mod check;
mod compare;
mod completions;
mod confirm;
pub(crate) mod conform;
mod demo;
mod diff;
mod docs;
mod doctor;
mod ending;
mod export;
mod identify;
mod largest;
pub(crate) mod list;
mod man;
mod new;
mod play;
mod prove;
mod receive;
mod reproduce;
mod rollback;
mod route;
mod run;
mod schema;
mod send;
mod set;
mod status;
mod step;
mod sweep;
mod tc;
mod test;
mod top;
mod tune;
mod twin;
mod watch;
mod welcome;

use crate::OpenStorage;
use crate::arguments::{Arguments, Command, Export, RouterCommand};
use crate::exit::{Exit, Failure};

/// Runs the command. `storage` opens the stores of sweeps at addresses.
pub(crate) fn dispatch(arguments: &Arguments, storage: &OpenStorage<'_>) -> Result<Exit, Failure> {
    match &arguments.command {
        None => Ok(welcome::welcome()),
        Some(Command::Demo(demo)) => demo::demo(demo),
        Some(Command::New(new)) => new::new(new),
        Some(Command::Run(run)) => run::run(run),
        Some(Command::Watch(watch)) => watch::watch(watch),
        Some(Command::Attack(arguments)) => attack::attack(arguments),
        Some(Command::Prove(arguments)) => prove::prove(arguments),
        Some(Command::Step(arguments)) => step::step(arguments),
        Some(Command::Play(arguments)) => play::play(arguments),
        Some(Command::Set(set)) => set::set(set),
        Some(Command::Check(check)) => Ok(check::check(check)),
        Some(Command::Compare(compare)) => compare::compare(compare),
        Some(Command::Diff(arguments)) => diff::diff(arguments),
        Some(Command::Sweep(sweep)) => sweep::sweep(sweep, storage),
        Some(Command::Tune(tune)) => tune::tune(tune),
        Some(Command::Test(test)) => test::test(test),
        Some(Command::List(list)) => list::list(list),
        Some(Command::Reproduce(reproduce)) => reproduce::reproduce(reproduce),
        Some(Command::Conform(arguments)) => match &arguments.against {
            Some(file) => against::against(arguments, file),
            None => conform::conform(arguments),
        },
        Some(Command::Doctor(doctor)) => doctor::doctor(doctor),
        Some(Command::Router(RouterCommand::Route(route))) => route::route(route),
        Some(Command::Router(RouterCommand::Apply(apply))) => apply::apply(apply),
        Some(Command::Router(RouterCommand::Confirm(confirm))) => confirm::confirm(confirm),
        Some(Command::Router(RouterCommand::Rollback(rollback))) => rollback::rollback(rollback),
        Some(Command::Router(RouterCommand::Status(status))) => status::status(status),
        Some(Command::Router(RouterCommand::Capture(capture))) => capture::capture(capture),
        Some(Command::Export(Export::Policy(export))) => export::policy(export),
        Some(Command::Tc(command)) => tc::tc(command),
        Some(Command::Top(arguments)) => top::top(arguments),
        Some(Command::Send(send)) => send::send(send),
        Some(Command::Identify(arguments)) => identify::identify_line(arguments),
        Some(Command::Receive(receive)) => receive::receive(receive),
        Some(Command::Schema(schema)) => schema::schema(schema),
        Some(Command::Completions(completions)) => completions::completions(completions),
        Some(Command::Man(man)) => man::man(man),
        Some(Command::Docs(docs)) => docs::docs(docs),
    }
}
