import {
  exposesCredential,
  PLAINTEXT_CREDENTIAL,
} from '../../../../core/connectors/credentials/clear-text.ts'
import {
  missingCredential,
  NOTHING_STORED,
  sourceProblem,
} from '../../../../core/crd/credentials/credential-spec.ts'
import { NO_LOCAL_SOURCES } from '../../../../core/crd/credentials/local-source-spec.ts'
import { CONNECTOR_RULES } from '../../../../core/crd/rules.ts'
import { immutableProblems } from '../../../../core/crd/spec-rules.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { refuseApprovalsBot } from '../../chat/bot/bot.ts'
import { authOf, domainField, findOverlaps, missingDomains, wrongAuth } from '../../connectors/domains.ts'
import type { ConnectorRow } from '../../connectors/rows.ts'
import type { ConnectorInput } from '../../connectors/store.ts'
import { namespaceOf } from '../../gateways/binding.ts'
import type { ApplyContext, ManifestObject } from './context.ts'

/** The row of a Connector object, without what is stored beside its specification. */
export type Candidate = Omit<ConnectorInput, 'credential' | 'lostDomains'>

/**
 * Returns a problem when the credential is the token of the bot that posts approval cards. Another token of the same
 * bot can be identified only by the provider; the bot check finds it later.
 */
export async function botProblems(
  context: ApplyContext,
  { spec, credential }: ManifestObject<'Connector'>,
): Promise<readonly string[]> {
  if (credential === null || credential === NOTHING_STORED) return []
  try {
    await refuseApprovalsBot(context.q, context, { type: spec.type, token: credential })
    return []
  } catch (error) {
    if (error instanceof ChaperoneError && error.code === 'conflict') return [error.message]
    throw error
  }
}

/** Lists why the specification of the object cannot be applied. */
export function problemsOf(
  { spec, name, source }: Candidate,
  row: ConnectorRow | undefined,
  { localSources: rules = NO_LOCAL_SOURCES }: Pick<ApplyContext, 'localSources'>,
): readonly string[] {
  // Immutable fields are compared for files only. In a cluster, the API server enforces immutability, so an object
  // with other values of these fields is a new object of the same name.
  const isSameObject = source === 'file' && row?.source === 'file'
  const changed = isSameObject ? immutableProblems(CONNECTOR_RULES, row.spec, spec) : []
  const wrong = [
    inField('spec.type', missingDomains(spec)),
    inField('spec.auth', wrongAuth(spec.auth)),
    inField('spec.upstream', plaintextProblem(spec)),
    sourceProblem(spec.credential, { source, namespace: namespaceOf({ name }), type: spec.type, rules }),
  ]
  return [...changed, ...wrong.filter((text) => text !== null)]
}

function inField(field: string, text: string | null): string | null {
  return text === null ? null : `${field}: ${text}`
}

function plaintextProblem(spec: Candidate['spec']): string | null {
  const isExposed = spec.credential !== undefined && exposesCredential({ ...spec, auth: authOf(spec) })
  return isExposed ? PLAINTEXT_CREDENTIAL : null
}

/** Lists the hosts of the object that another Connector of the same gateway has. */
export function overlapsOf(candidate: Candidate, others: readonly ConnectorRow[]): readonly string[] {
  return findOverlaps(candidate, others).map(
    ({ domain, connector }) =>
      `${domainField(candidate.spec, domain)}: ${domain} belongs to the connector ${connector.name} (${connector.managedBy ?? connector.id}) already; a host can have one connector per gateway`,
  )
}

export function credentialWarnings({ spec, credential, namespace }: ManifestObject<'Connector'>): readonly string[] {
  const warning = credential === null ? missingCredential(spec.credential, namespace) : null
  return warning === null ? [] : [warning]
}
