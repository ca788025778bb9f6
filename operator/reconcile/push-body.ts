import { API_VERSION, type ResourceKind } from '../../core/crd/schemas.ts'
import type { PushBody } from '../../core/wire/operator/operator.ts'

/** A manifest object as its source observed it. */
export type ObservedManifest = Pick<PushBody, 'uid' | 'generation' | 'source' | 'origin' | 'lines'> & {
  readonly kind: ResourceKind
  readonly metadata: PushBody['resource']['metadata']
  /** The spec, which the control plane validates against the schema of the kind. */
  readonly spec: unknown
  /** Name of the source that manages the object, shown when a user tries to edit the object in the dashboard. */
  readonly managedBy: string
  /**
   * Credential of a Connector; null when its Secret or the key in the Secret is missing. Undefined while the credential
   * is not readable; the control plane then keeps the stored credential.
   */
  readonly credential?: string | null | undefined
  /** Time of creation (RFC 3339). */
  readonly createdAt?: string | undefined
  /** Problems as full sentences. The control plane refuses an object that has problems. */
  readonly problems?: readonly string[]
  /**
   * Set for a broken document without a readable name. `policy`: its kind is Policy. `unknown`: its kind is not
   * readable either. Null when name and kind are readable.
   */
  readonly unnamed?: 'policy' | 'unknown' | null
}

/** Builds the request body that pushes one manifest object to the control plane. */
export function pushBody(manifest: ObservedManifest): PushBody {
  const { uid, generation, source, managedBy, origin, lines, kind, metadata, spec } = manifest
  const { credential, createdAt, problems, unnamed = null } = manifest
  return {
    uid,
    generation,
    source,
    managed_by: managedBy,
    ...(origin === undefined ? {} : { origin }),
    ...(lines === undefined ? {} : { lines }),
    resource: { apiVersion: API_VERSION, kind, metadata, spec },
    ...(createdAt === undefined ? {} : { created_at: createdAt }),
    ...(credential === undefined ? {} : { credential }),
    ...(problems === undefined ? {} : { problems: [...problems] }),
    ...(unnamed === null ? {} : { unnamed }),
  }
}
