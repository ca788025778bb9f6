import { dirname } from 'node:path'
import type { Violation } from './import-rules.ts'
import { type SourceFile, target } from './source-files.ts'

/**
 * Public modules of every feature of the control plane. `service.ts` has the operations of the feature.
 * `rows.ts` has the types of rows, and functions by which other features read these rows in their own
 * transactions.
 */
const PUBLIC = ['service.ts', 'rows.ts']

/** Further modules that other folders may import, each with the reason. */
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
  'actions/tokens/rows.ts': 'the configuration of a gateway has the public keys of decision tokens',
  'actions/tokens/signing-keys.ts': 'the first start creates the first key',
  'master-key/rotation.ts': 'the command line rotates the master key without a control plane',
  'users/password-reset.ts': 'the command line resets a password without a control plane',
  'sessions/attempts.ts': 'every check of a password counts toward the same limits',
}

/**
 * Checks that features, streams, the server and the command line import features only through their public modules,
 * that `rows.ts` only reads, and that no folder has too many files.
 */
export function featureViolations(files: readonly SourceFile[]): Violation[] {
  return [
    ...files.flatMap((file) => [...privateImports(file), ...writesOfRows(file)]),
    ...largeFolders(files),
  ]
}

/** Maximum number of source files in one folder of a feature, and in any other folder. Tests are not counted. */
const MAX_FILES = { feature: 12, other: 20 }

function largeFolders(files: readonly SourceFile[]): Violation[] {
  const counts = new Map<string, number>()
  for (const path of files.map((file) => dirname(file.path)).filter((path) => !/^test(\/|$)/.test(path))) {
    counts.set(path, (counts.get(path) ?? 0) + 1)
  }
  return [...counts].flatMap(([path, count]) => {
    const most = featureOf(path) === undefined ? MAX_FILES.other : MAX_FILES.feature
    const message = `has ${count} source files, at most ${most}: move some to a folder named after what they hold`
    return count > most ? [{ path, line: 1, message }] : []
  })
}

/**
 * Returns a violation for each import of a private module. Type-only imports are allowed, because the values
 * come from the composition root as arguments.
 */
function privateImports(file: SourceFile): Violation[] {
  const from = featureOf(file.path)
  if (from === undefined && !isBoundToFeatures(file.path)) return []
  return file.imports.flatMap(({ line, specifier, isTypeOnly }) => {
    const to = target(file, specifier)
    const feature = to === undefined ? undefined : featureOf(to)
    if (to === undefined || feature === undefined || feature === from) return []
    const module = to.slice(FEATURES.length)
    if (isTypeOnly || isOffered(module, file.path)) return []
    const message = `imports ${to}: a feature offers ${PUBLIC.join(', ')} and the modules of SURFACE to others`
    return [{ path: file.path, line, message }]
  })
}

/** Reports whether the file `to` may import the module of a feature. `module`: `feature/file.ts`. */
function isOffered(module: string, to: string): boolean {
  if (module in SURFACE || PUBLIC.includes(module.slice(module.indexOf('/') + 1))) return true
  return to === CONFIG && module.endsWith('/settings.ts')
}

/**
 * `config.ts` imports the `settings.ts` of each feature, because each feature reads its own settings of the
 * process.
 */
const CONFIG = 'controlplane/config.ts'

/**
 * Matches the composition root. It constructs the services and routes of every feature and passes them to each other,
 * so it also imports private modules.
 */
const COMPOSITION_ROOT = /^controlplane\/(controlplane|services|[a-z]+-services|routes)\.ts$/

/** Reports whether the file belongs to the control plane, but neither to a feature nor to the composition root. */
function isBoundToFeatures(path: string): boolean {
  return path.startsWith('controlplane/') && !COMPOSITION_ROOT.test(path)
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
