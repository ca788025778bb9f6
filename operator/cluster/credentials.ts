import type { ConditionReason } from '../../core/crd/conditions.ts'
import type { ConnectorSpec } from '../../core/crd/schemas.ts'

/** A Secret as it was last read by its name. */
export type SecretReading =
  | { readonly state: 'found'; readonly data: Readonly<Record<string, string>> }
  | { readonly state: 'missing' | 'forbidden' | 'unreadable' }

/** What a Connector's reference led to. */
export type Credential = {
  /** undefined = not known just now: the control plane then keeps the one that it has. */
  readonly value: string | null | undefined
  readonly problem: { readonly reason: ConditionReason<'ResolvedRefs'>; readonly message: string } | null
}

const NONE: Credential = { value: null, problem: null }

/** Only ever from the Connector's own namespace: a reference has no field for another. */
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
      return problem(null, 'SecretNotFound', `there is no Secret ${name}; create it with the key ${ref.key}`)
    case 'forbidden':
      return problem(
        undefined,
        'SecretForbidden',
        `the operator may not read the Secret ${name}; bind its ServiceAccount to the ClusterRole chaperone-secret-reader with a RoleBinding in namespace ${namespace}`,
      )
    default:
      return problem(undefined, 'SecretUnreadable', `the Secret ${name} could not be read just now`)
  }
}

function fromData(data: Readonly<Record<string, string>>, key: string, name: string): Credential {
  const encoded = data[key]
  if (encoded === undefined)
    return problem(null, 'SecretKeyNotFound', `the Secret ${name} has no key ${key}; add it`)
  // `kubectl create secret --from-file` keeps the line end of the file, and no header may have one.
  const value = Buffer.from(encoded, 'base64')
    .toString('utf8')
    .replace(/[\r\n]+$/, '')
  if (value === '') return problem(null, 'SecretKeyNotFound', `the key ${key} of the Secret ${name} is empty`)
  return { value, problem: null }
}

function problem(
  value: null | undefined,
  reason: ConditionReason<'ResolvedRefs'>,
  message: string,
): Credential {
  return { value, problem: { reason, message } }
}
