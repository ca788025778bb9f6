import { beginning } from '../../excerpt.ts'
import { ConnectorType } from '../connector-fields.ts'
import type { PermissionSpec } from '../schemas.ts'

/** A grant whose Gateway is an object of a cluster. */
export type ClusterGrant = {
  readonly id: string
  readonly approvalId: string
  /** Name of the Gateway, `namespace/name`. */
  readonly gateway: string
  readonly agent: string
  readonly actionType: string
  readonly anyTarget: boolean
  readonly target: string | null
  readonly parameterNames: readonly string[]
  readonly maxUses: number
  readonly createdBy: string
  readonly expiresAt: string
}

/** Name, labels and spec of the Permission that shows a grant in its cluster. */
export type GrantPermission = {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly spec: PermissionSpec
}

/** Label of the Permission of a grant, with the id of the grant. */
export const GRANT_LABEL = 'chaperone.dev/grant'
/**
 * Prefix of the name of a grant's Permission. The rest is the id of the grant in lower case, without the id's prefix.
 */
export const GRANT_NAME_PREFIX = 'grant-'

/**
 * Returns the Permission that shows a grant. Its rule has the decision `require_approval`, so that the Permission
 * allows nothing if the control plane has no such grant.
 */
export function grantPermission(grant: ClusterGrant): GrantPermission {
  const { id, approvalId, gateway, agent, actionType, createdBy, expiresAt, maxUses } = grant
  const at = gateway.indexOf('/')
  return {
    namespace: gateway.slice(0, at),
    name: grantObjectName(id),
    labels: {
      [GRANT_LABEL]: id,
      'chaperone.dev/approval': approvalId,
      'chaperone.dev/granted-by': labelValue(createdBy),
    },
    annotations: { 'chaperone.dev/granted-by': createdBy },
    spec: {
      gatewayRefs: [{ name: gateway.slice(at + 1) }],
      agents: [agent],
      rules: [
        {
          connectorType: typeOf(actionType),
          actionPattern: patternOf(actionType),
          decision: 'require_approval',
          reason: beginning(reasonOf(grant), MAX_REASON),
        },
      ],
      expiresAt,
      maxUses,
    },
  }
}

/** Returns the name of the Permission of a grant. */
export function grantObjectName(id: string): string {
  return `${GRANT_NAME_PREFIX}${id.slice(id.indexOf('_') + 1).toLowerCase()}`
}

/** Reports whether a Permission has a field that only the Permission of a grant has. */
export function hasGrantFields({
  expiresAt,
  maxUses,
}: Pick<PermissionSpec, 'expiresAt' | 'maxUses'>): boolean {
  return expiresAt !== undefined || maxUses !== undefined
}

/** Reports whether the spec equals that of the grant's Permission. The text of the reason is not compared. */
export function isOfGrant(spec: PermissionSpec, grant: ClusterGrant): boolean {
  const wanted = grantPermission(grant)
  return textOf(spec, wanted.namespace) === textOf(wanted.spec, wanted.namespace)
}

function textOf({ gatewayRefs, agents, rules, expiresAt, maxUses }: PermissionSpec, own: string): string {
  const refs = gatewayRefs.map(({ namespace = own, name }) => [namespace, name])
  const patterns = rules.map(({ connectorType, actionPattern, decision }) => [
    ...[connectorType, actionPattern, decision],
  ])
  return JSON.stringify([refs, agents, patterns, expiresAt, maxUses])
}

const MAX_REASON = 500
const MAX_PATTERN = 300

/** Returns the action as a pattern. An action that is longer than a pattern may be becomes a prefix with `*`. */
function patternOf(actionType: string): string {
  return actionType.length <= MAX_PATTERN ? actionType : `${actionType.slice(0, MAX_PATTERN - 1)}*`
}

/**
 * Returns the reason of the Permission's rule. The text contains the names of parameters but not their values, which
 * may be confidential: more users read Permissions than cards.
 */
function reasonOf({ createdBy, approvalId, anyTarget, target, parameterNames }: ClusterGrant): string {
  const onTarget = anyTarget
    ? 'any target'
    : target === null
      ? 'requests without a target'
      : `target ${target}`
  const named =
    parameterNames.length === 0 ? '' : `, with the approved values of ${parameterNames.join(', ')}`
  return `Later requests approved by ${createdBy} with approval ${approvalId}: ${onTarget}${named}`
}

/**
 * Returns the connector type with which the name of an action begins. Returns `generic` for a name without a connector
 * type, which only an action that a Connector declares may have.
 */
function typeOf(actionType: string): PermissionSpec['rules'][number]['connectorType'] {
  return ConnectorType.safeParse(actionType.slice(0, actionType.indexOf('.'))).data ?? 'generic'
}

/** Returns the text as the value of a label: at most 63 letters, digits, `-`, `_` and `.`. */
function labelValue(text: string): string {
  const plain = text.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, 63)
  return plain.replace(/^[._-]+|[._-]+$/g, '')
}
