import { readdirSync, readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { Rule, Rules } from './test-world.ts'

type Spec = {
  readonly type: ConnectorEntry['type']
  readonly scope: object
  readonly rules: ReadonlyArray<{ readonly actionPattern: string; readonly decision: Rule[1] }>
}
type Manifest = {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: Spec
}

/** The rules that the first start writes, with credentials. */
function starterRules(): Rules {
  const folder = new URL('../../../controlplane/cli/up/starter/', import.meta.url)
  const manifests = readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => parseAllDocuments(readFileSync(new URL(file, folder), 'utf8')))
    .map((document) => document.toJS() as Manifest)
  const of = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
  return {
    connectors: of('Connector').map(({ metadata: { name }, spec: { type } }) => ({
      id: `conn_${name}`,
      name,
      type,
    })),
    permissions: of('Permission').flatMap(({ spec }) =>
      spec.rules.map(({ actionPattern, decision }): Rule => [actionPattern, decision]),
    ),
    policies: of('Policy').map(({ metadata: { name }, spec: { scope, rules } }) => ({
      name,
      document: { scope, rules },
    })),
  }
}

/** The rules of the first start. */
export const STARTER: Rules = starterRules()
