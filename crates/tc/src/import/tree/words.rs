//! Account of the words of a tree: settings by their parameters, filters by the classes that they lead to.

use lockgate_scenario::reference::{Parameter, reference};

use super::Builder;
use crate::handle::Handle;
use crate::import::account::is_framed_by;
use crate::import::classification::Classification;
use crate::import::settings::Parameters;
use crate::language::Kind;
use crate::position::Position;
use crate::problem::Problem;
use crate::syntax::{Police, Setting};
use crate::words::CommandWords;

impl Builder<'_> {
    /// Accounts for settings by the parameters that came of them.
    pub(super) fn settings(
        &mut self,
        words: &CommandWords,
        (kind, settings): (Kind, &[Setting]),
        known: &[Parameter],
        parameters: &[&Parameters],
    ) {
        let stab = self.objects.root.stab.as_deref();
        let present = parameters.iter().flat_map(|some| some.iter().map(|(name, _)| *name));
        let present: Vec<&str> = present.filter(|name| !is_framed_by(stab, kind, name)).collect();
        let is_general = self.objects.is_general;
        self.account.settings(words, (kind, settings), known, is_general, &present, &mut self.left_out);
    }

    /// Reports what a classification left out.
    pub(super) fn note(&mut self, owner: Handle, classification: &Classification) -> Result<(), Problem> {
        for rule in self.objects.rules.iter().filter(|rule| rule.parent == owner) {
            if classification.is_tried(rule) {
                self.account.take(&rule.words);
            } else {
                self.account.name(&rule.words);
            }
        }
        for (_, table) in self.objects.tables.iter().filter(|(of, _)| *of == owner) {
            self.account.take(&table.words);
        }
        self.left_out.extend(classification.never.iter().cloned());
        let is_modelled = reference("policer").is_some();
        let unsaid = |(class, ..): &&(Handle, Police, Position)| {
            !is_modelled || classification.police_of(*class).is_none()
        };
        if let Some((class, _, at)) = classification.polices.iter().find(unsaid) {
            let message = format!(
                "`police` of a part of the packets for the class `{class}`, or of more than it, is not understood"
            );
            let help =
                "give these packets a class of their own; filters of one class share a meter by `index`";
            return Err(Problem::new(*at, message).help(help));
        }
        for (_, police, at) in &classification.polices {
            self.left_out.extend(police.differences(at.line));
        }
        Ok(())
    }
}
