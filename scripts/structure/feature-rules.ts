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
  'audit/store.ts': 'an action is stored with its events in one statement, for throughput',
  'manifests/managed.ts': 'every change of a row refuses a row that a manifest states',
  'gateways/binding.ts': 'every manifest object resolves the Gateways that it references',
  'gateways/names.ts': 'every object of a Gateway resolves its name',
  'gateways/dial.ts': 'every call to a configured address has the same checks',
  'manifests/object-origins.ts': 'every list shows the origin of its objects',
  'connectors/domains.ts': 'every reader of a Connector takes its hosts and authentication from one place',
  'gateways/floor.ts': 'every reader of an enforcement level applies its floor',
  'oidc/checked-fetch.ts': 'every call to a token endpoint has the checks of calls to the identity provider',
  'credentials/source.ts': 'every list of Connectors states where their credential is kept',
  'permissions/rules-beside.ts': 'every change of a permission warns about the rules beside it',
  'policies/write-store.ts': 'manifests write their policies and record the events of the whole change set',
  'users/provider-accounts.ts':
    'the identity provider creates and changes accounts in the transaction of a sign-in',
  'approvals/grants/grant-objects.ts':
    'a Permission of the cluster shows a grant, and its deletion revokes it',
  'approvals/card.ts': 'every card of an approval has the same facts',
  'chat/card/nonce.ts': 'every answer invalidates the card that shows the approval before it',
  'chat/bot/bot.ts': 'every change of a Connector refuses the credential of the approvals bot',
  'record-export/retention-store.ts': 'the cleanup keeps records that wait for their export',
  'agents/key-use.ts': 'every request with an agent key counts toward the rate limit of the agent',
  'pods/assert-own-agents.ts': 'every call of a sidecar names only the agents of its pod',
  'sessions/attempts.ts': 'every check of a password counts toward the same limits',
}

/** Checks that features import each other only through their public modules, and that `rows.ts` only reads. */
export function featureViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => [...privateImports(file), ...writesOfRows(file)])
}

/** Returns the imports of private modules. Type-only imports are allowed, because the composition root passes the values. */
function privateImports(file: SourceFile): Violation[] {
  const from = featureOf(file.path)
  if (from === undefined) return []
  return file.imports.flatMap(({ line, specifier, isTypeOnly }) => {
    const to = target(file, specifier)
    const feature = to === undefined ? undefined : featureOf(to)
    if (to === undefined || feature === undefined || feature === from) return []
    const module = to.slice(FEATURES.length)
    if (isTypeOnly || module in SURFACE || PUBLIC.includes(module.slice(feature.length + 1))) return []
    const message = `imports ${to}: a feature offers ${PUBLIC.join(', ')} and the modules of SURFACE to others`
    return [{ path: file.path, line, message }]
  })
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
