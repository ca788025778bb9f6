import type { Violation } from './import-rules.ts'
import { type SourceFile, target } from './source-files.ts'

/**
 * Public modules of every feature of the control plane. `service.ts` has the operations of the feature. `rows.ts` has types
 * and reads of rows that other features read in their own transactions.
 */
const PUBLIC = ['service.ts', 'rows.ts']

/** Further modules that other features may import, with the reason. */
const SURFACE: Readonly<Record<string, string>> = {
  'audit/actor.ts': 'every change names its actor',
  'audit/events.ts': 'every change records its event in its own transaction',
  'manifests/managed.ts': 'every change of a row refuses a row that a manifest states',
  'gateways/binding.ts': 'every manifest object resolves the Gateways that it references',
  'gateways/names.ts': 'every object of a Gateway resolves its name',
  'gateways/dial.ts': 'every call to a configured address has the same checks',
  'manifests/object-origins.ts': 'every list shows the origin of its objects',
  'connectors/domains.ts': 'every reader of a Connector takes its hosts and authentication from one place',
  'gateways/floor.ts': 'every reader of an enforcement level applies its floor',
  'credentials/source.ts': 'every list of Connectors states where their credential is kept',
  'permissions/rules-beside.ts': 'every change of a permission warns about the rules beside it',
  'approvals/card.ts': 'every card of an approval has the same facts',
  'chat/bot.ts': 'every change of a Connector refuses the credential of the approvals bot',
  'sessions/attempts.ts': 'every check of a password counts toward the same limits',
  'tokens/times.ts': 'every token has the same tolerance of clocks',
}

/**
 * Imports of private modules that are still to be removed, with the features that have them. Changes may only remove entries.
 */
export const PENDING: Readonly<Record<string, readonly string[]>> = {
  'actions/evaluation.ts': ['executions'],
  'actions/names.ts': ['policies'],
  'actions/store.ts': ['approvals', 'executions', 'tokens'],
  'actions/submission.ts': ['executions'],
  'agents/foreign-agents.ts': ['approvals', 'traffic'],
  'agents/store.ts': ['commands', 'overview', 'pods', 'settings', 'traffic'],
  'approvals/answers/answerer.ts': ['agents'],
  'approvals/answers/store.ts': ['actions'],
  'approvals/asker-store.ts': ['overview'],
  'approvals/hold-input.ts': ['executions'],
  'approvals/kill-cancellation-store.ts': ['actions'],
  'approvals/progress.ts': ['actions'],
  'approvals/store.ts': ['actions', 'audit', 'chat', 'executions'],
  'authentication/cluster/access-review.ts': ['approvals'],
  'authentication/cluster/callers.ts': ['approvals'],
  'authentication/cluster/group-members.ts': ['manifests', 'policies'],
  'chat/answers.ts': ['notifications'],
  'chat/api.ts': ['notifications'],
  'chat/bot-check.ts': ['notifications'],
  'chat/bot-identity.ts': ['notifications'],
  'chat/message-store.ts': ['approvals'],
  'chat/message.ts': ['notifications'],
  'connectors/host-claims.ts': ['manifests'],
  'connectors/host-conflicts.ts': ['manifests'],
  'connectors/placement.ts': ['commands', 'settings'],
  'connectors/store.ts': ['commands', 'manifests', 'settings'],
  'executions/action-of-agent.ts': ['actions'],
  'executions/approval-binding.ts': ['actions'],
  'executions/holds.ts': ['approvals'],
  'executions/sweeper.ts': ['actions'],
  'export/manifests.ts': ['manifests'],
  'gateways/agent-store.ts': ['approvals', 'commands', 'traffic'],
  'gateways/handle-store.ts': ['maintenance', 'traffic'],
  'gateways/process-owners.ts': ['authentication', 'traffic'],
  'gateways/process-store.ts': ['pods'],
  'gateways/quota-lease-store.ts': ['maintenance'],
  'gateways/store.ts': ['commands', 'manifests', 'settings'],
  'manifests/store.ts': ['connectors', 'export'],
  'notifications/store.ts': ['chat'],
  'permissions/store.ts': ['commands', 'manifests', 'settings'],
  'policies/cached-check.ts': ['manifests'],
  'policies/edit-replay.ts': ['export'],
  'policies/edited-in-yaml.ts': ['connectors', 'manifests'],
  'policies/record.ts': ['manifests'],
  'policies/store.ts': ['manifests'],
  'policies/untouched-defaults.ts': ['export'],
  'policies/view.ts': ['agents'],
  'sessions/store.ts': ['authentication', 'oidc', 'users'],
  'settings/store.ts': ['notifications'],
  'settings/stored-setting.ts': ['chat'],
  'tokens/nonce-store.ts': ['actions', 'approvals', 'executions'],
  'traffic/ingest-store.ts': ['approvals'],
  'users/approver-key-store.ts': ['authentication'],
  'users/approver-keys.ts': ['oidc'],
  'users/store.ts': ['oidc'],
}

type FeatureImport = Violation & { readonly from: string; readonly module: string }

/** Checks that features import each other only through their public modules, and that `rows.ts` only reads. */
export function featureViolations(
  files: readonly SourceFile[],
  pending: typeof PENDING = PENDING,
): Violation[] {
  const found = files.flatMap(privateImports)
  const isPending = ({ from, module }: FeatureImport) => pending[module]?.includes(from) === true
  return [
    ...found.filter((one) => !isPending(one)).map(({ path, line, message }) => ({ path, line, message })),
    ...staleEntries(pending, found),
    ...files.flatMap(writesOfRows),
  ]
}

/** Returns the imports of private modules. Type-only imports are allowed, because the composition root passes the values. */
function privateImports(file: SourceFile): FeatureImport[] {
  const from = featureOf(file.path)
  if (from === undefined) return []
  return file.imports.flatMap(({ line, specifier, isTypeOnly }) => {
    const to = target(file, specifier)
    const feature = to === undefined ? undefined : featureOf(to)
    if (to === undefined || feature === undefined || feature === from) return []
    const module = to.slice(FEATURES.length)
    if (isTypeOnly || module in SURFACE || PUBLIC.includes(module.slice(feature.length + 1))) return []
    const message = `imports ${to}: a feature offers ${PUBLIC.join(', ')} and the modules of SURFACE to others`
    return [{ path: file.path, line, message, from, module }]
  })
}

function staleEntries(pending: typeof PENDING, found: readonly FeatureImport[]): Violation[] {
  const path = 'scripts/structure/feature-rules.ts'
  return Object.entries(pending).flatMap(([module, features]) =>
    features
      .filter((from) => !found.some((one) => one.module === module && one.from === from))
      .map((from) => ({
        path,
        line: 1,
        message: `PENDING: ${from} does not import ${module}: remove the entry`,
      })),
  )
}

function writesOfRows({ path, text }: SourceFile): Violation[] {
  if (featureOf(path) === undefined || !path.endsWith('/rows.ts')) return []
  const message = 'rows.ts only reads: writes are private, in store.ts'
  return text
    .split('\n')
    .flatMap((line, index) => (WRITE.test(line) ? [{ path, line: index + 1, message }] : []))
}

/** Matches the start of a SQL statement that writes, at the start of a line or of a string literal. */
const WRITE = /(^|[`'"])\s*(insert into|update|delete from)\s/
const FEATURES = 'controlplane/features/'

function featureOf(path: string): string | undefined {
  return path.startsWith(FEATURES) ? path.slice(FEATURES.length).split('/')[0] : undefined
}
