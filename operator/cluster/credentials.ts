import type { ConditionReason } from '../../core/crd/conditions.ts'
import type { ConnectorSpec } from '../../core/crd/connector-spec.ts'

/** The result of the last read of a Secret. */
export type SecretReading =
  | { readonly state: 'found'; readonly data: Readonly<Record<string, string>> }
  | { readonly state: 'missing' | 'forbidden' | 'unreadable' }

/** The resolved credential of a Connector. */
export type Credential = {
  /**
   * Value of the credential; null if there is none, for example when the Secret is missing. Undefined while the Secret
   * is not readable; the control plane then keeps the stored credential.
   */
  readonly value: string | null | undefined
  readonly problem: { readonly reason: ConditionReason<'ResolvedRefs'>; readonly message: string } | null
}

const NONE: Credential = { value: null, problem: null }

/**
 * Resolves the credential reference of a Connector. The Secret is in the Connector's namespace: a reference has no
 * field for another namespace.
 */
export function resolveCredential(
  { credential }: Pick<ConnectorSpec, 'credential'>,
  namespace: string,
  reading: SecretReading | null,
): Credential {
  const ref = credential?.secretRef
  if (ref === undefined) return NONE
  const name = `${namespace}/${ref.name}`
  switch (reading?.state) {
    case 'found':
      return fromData(reading.data, ref.key, name)
    case 'missing':
      return problem(
        null,
        'SecretNotFound',
        `Secret ${name} does not exist; create it with the key ${ref.key}`,
      )
    case 'forbidden':
      return problem(
        undefined,
        'SecretForbidden',
        `the operator has no right to read Secret ${name}; bind its ServiceAccount to the ClusterRole chaperone-secret-reader with a RoleBinding in namespace ${namespace}`,
      )
    default:
      return problem(
        undefined,
        'SecretUnreadable',
        `Secret ${name} cannot be read at the moment; the last known credential stays in use, and the operator tries again`,
      )
  }
}

function fromData(data: Readonly<Record<string, string>>, key: string, name: string): Credential {
  const encoded = data[key]
  if (encoded === undefined)
    return problem(null, 'SecretKeyNotFound', `Secret ${name} has no key ${key}; add it`)
  // `kubectl create secret --from-file` keeps the line end of the file, which is invalid in a header.
  const value = Buffer.from(encoded, 'base64')
    .toString('utf8')
    .replace(/[\r\n]+$/, '')
  if (value === '')
    return problem(null, 'SecretKeyNotFound', `key ${key} of Secret ${name} is empty; set its value`)
  return { value, problem: null }
}

function problem(
  value: null | undefined,
  reason: ConditionReason<'ResolvedRefs'>,
  message: string,
): Credential {
  return { value, problem: { reason, message } }
}
