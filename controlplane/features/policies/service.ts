import type { KnownAction } from '../../../core/action/spec.ts'
import { DEFAULT_POLICIES } from '../../../core/decision/policies/default-policies.ts'
import {
  assertRepeatedFieldsAgree,
  type ParsedPolicy,
  parsePolicyYaml,
} from '../../../core/decision/policies/policy-document.ts'
import { judgePolicyTests } from '../../../core/decision/policies/policy-tests.ts'
import { emptyGroupWarnings } from '../../../core/decision/policies/policy-warnings.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { problemText } from '../../../core/problem.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { newId } from '../../crypto/ids.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Db, Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import { validationError } from '../../http/input.ts'
import { type Actor, originOf, systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import type { GroupMembers } from '../authentication/cluster/group-members.ts'
import { refuseManaged } from '../manifests/managed.ts'
import { listGroups } from '../users/rows.ts'
import { listPoliciesIn, type PolicyRow, type PolicyTestResult } from './rows.ts'
import { countPolicies, lockPolicy } from './store.ts'
import { deletePolicy, insertPolicy, type PolicyChanges, updatePolicy } from './write-store.ts'

export type PoliciesDeps = {
  readonly db: Db
  readonly orgId: string
  /** Returns the effect and the risk of an action by its name in the catalogue, for the tests of policies. */
  readonly knownAction: (type: string) => KnownAction | null
}

/** Fields of a policy other than its text. */
export type PolicyFields = {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly policyYaml?: string | undefined
  readonly enabled?: boolean | undefined
  readonly priority?: number | undefined
  readonly tags?: readonly string[] | undefined
  readonly mode?: 'enforce' | 'monitor' | undefined
}

export type NewPolicy = PolicyFields & { readonly name: string; readonly policyYaml: string }
type StoredPolicy = { readonly row: PolicyRow; readonly parsed: ParsedPolicy }
export type SavedPolicy = { readonly row: PolicyRow; readonly warnings: readonly string[] }

export type Policies = {
  list(namespaces: Namespaces): Promise<readonly PolicyRow[]>
  /**
   * Stores a policy. A text whose tests fail is stored but not activated; `row.activeVersion` then differs from
   * `row.version`.
   */
  create(by: Actor, input: NewPolicy): Promise<SavedPolicy>
  update(by: Actor, id: string, fields: PolicyFields, expectedVersion?: number): Promise<SavedPolicy>
  remove(by: Actor, id: string): Promise<void>
}

/** @param deps.members Reports whether RBAC lets approver groups without accounts answer approvals. */
export function createPolicies(deps: PoliciesDeps & { readonly members: GroupMembers }): Policies {
  const { db, orgId, members } = deps
  const warned = async ({ row, parsed: { document, warnings } }: StoredPolicy): Promise<SavedPolicy> => {
    await members.ask(async () => [{ namespace: '', spec: document }])
    const empty = emptyGroupWarnings(document, await listGroups(db), members.absence(''))
    return { row, warnings: [...warnings, ...empty] }
  }
  return {
    list: (namespaces) => listPoliciesIn(createScopedQuery(db, namespaces)),
    create: async (by, input) => warned(await db.tx((q) => createPolicy(q, deps, by, input))),
    update: async (by, id, fields, expectedVersion) => {
      const stored = await db.tx(async (q) => {
        const row = await existing(q, id)
        refuseManaged(q, row)
        if (expectedVersion !== undefined && expectedVersion !== row.version)
          throw outdated(row, expectedVersion)
        return update(q, deps, by, { row, fields })
      })
      return warned(stored)
    },
    remove: (by, id) =>
      db.tx(async (q) => {
        const row = await existing(q, id)
        refuseManaged(q, row)
        await deletePolicy(q, id)
        await recordEvent(q, {
          orgId,
          actor: by,
          type: 'policy.deleted',
          details: { policy_id: id, name: row.name },
        })
        await bumpVersion(q)
      }),
  }
}

/** Creates the default policies of a new organisation. Users can edit and delete them like any other policy. */
export async function createDefaultPolicies(q: Query, deps: PoliciesDeps): Promise<void> {
  const by: Actor = { ...systemActor('installation'), origin: 'built_in' }
  for (const { name, description, priority, tags, policyYaml } of DEFAULT_POLICIES) {
    await createPolicy(q, deps, by, { name, description, priority, tags, policyYaml })
  }
}

/**
 * Creates a policy in the caller's transaction. `disableFailing`: true to store the policy as disabled if its tests
 * fail.
 */
export async function createPolicy(
  q: Query,
  deps: Pick<PoliciesDeps, 'orgId' | 'knownAction'>,
  by: Actor,
  {
    gatewayIds = [],
    disableFailing = false,
    ...input
  }: NewPolicy & {
    readonly disableFailing?: boolean
    readonly gatewayIds?: readonly string[]
  },
): Promise<StoredPolicy> {
  if ((await countPolicies(q)) >= LIMITS.maxPolicies) {
    throw new ChaperoneError('conflict', {
      detail: `The limit of ${LIMITS.maxPolicies} policies is reached. Remove one first.`,
    })
  }
  const checked = check(deps, input.policyYaml)
  assertAgree(checked.parsed, input)
  const { repeated, document } = checked.parsed
  const fields = fieldsOfNew(input, repeated)
  const row = await insertPolicy(q, {
    id: newId('policy'),
    orgId: deps.orgId,
    name: input.name,
    description: input.description ?? document.description ?? '',
    ...fields,
    enabled: fields.enabled && (checked.passed || !disableFailing),
    gatewayIds,
    lostGatewayIds: [],
    policyYaml: input.policyYaml,
    activeYaml: checked.passed ? input.policyYaml : null,
    version: 1,
    activeVersion: checked.passed ? 1 : null,
    tests: checked.tests,
    invalid: null,
    source: 'api',
    managedBy: null,
    origin: originOf(by),
  })
  await note(q, by, 'policy.created', row)
  await bumpVersion(q)
  return { row, parsed: checked.parsed }
}

/**
 * Returns the fields of a new policy row. Fields of the input take precedence over fields in the policy text, which
 * take precedence over the defaults.
 */
export function fieldsOfNew(input: PolicyFields, repeated: ParsedPolicy['repeated']) {
  return {
    enabled: input.enabled ?? repeated.enabled ?? true,
    priority: input.priority ?? repeated.priority ?? 100,
    tags: input.tags ?? repeated.tags ?? [],
    mode: input.mode ?? repeated.mode ?? 'enforce',
  }
}

/** Disables a policy in the caller's transaction. */
export async function disablePolicy(q: Query, by: Actor, row: PolicyRow): Promise<void> {
  const saved = (await updatePolicy(q, row.id, { enabled: false, origin: originOf(by) })) ?? row
  await note(q, by, 'policy.disabled', saved)
  await bumpVersion(q)
}

async function update(
  q: Query,
  deps: PoliciesDeps,
  by: Actor,
  { row, fields }: { readonly row: PolicyRow; readonly fields: PolicyFields },
): Promise<StoredPolicy> {
  const text = fields.policyYaml ?? row.policyYaml
  const checked = check(deps, text)
  assertAgree(checked.parsed, { ...row, ...stated(fields) })
  const changes = { ...stated(fields), ...(text === row.policyYaml ? {} : newText(row, text, checked)) }
  const saved = (await updatePolicy(q, row.id, { ...changes, origin: originOf(by) })) ?? row
  const { enabled, ...others } = changes
  if (Object.keys(others).length > 0) await note(q, by, 'policy.updated', saved, Object.keys(others))
  if (enabled !== undefined && enabled !== row.enabled) {
    await note(q, by, enabled ? 'policy.enabled' : 'policy.disabled', saved)
  }
  await bumpVersion(q)
  return { row: saved, parsed: checked.parsed }
}

type Checked = {
  readonly parsed: ParsedPolicy
  readonly tests: readonly PolicyTestResult[]
  readonly passed: boolean
}

function check(deps: Pick<PoliciesDeps, 'knownAction'>, policyYaml: string): Checked {
  try {
    const parsed = parsePolicyYaml(policyYaml)
    const tests = judgePolicyTests(parsed.document, deps.knownAction)
    return { parsed, tests, passed: tests.every((test) => test.passed) }
  } catch (error) {
    if (error instanceof ChaperoneError && error.code === 'validation') throw withFieldName(error)
    throw error
  }
}

function assertAgree(parsed: ParsedPolicy, record: PolicyFields): void {
  const { name, enabled, priority, tags, mode } = record
  try {
    assertRepeatedFieldsAgree(parsed.repeated, {
      name,
      enabled,
      priority,
      mode,
      ...(tags === undefined ? {} : { tags: [...tags] }),
    } as ParsedPolicy['repeated'])
  } catch (error) {
    if (error instanceof ChaperoneError && error.code === 'validation') throw withFieldName(error)
    throw error
  }
}

/**
 * Prefixes the messages of the error with the field name `policyYaml`, because the messages contain only positions in
 * the text.
 */
function withFieldName(error: ChaperoneError): ChaperoneError {
  return validationError(
    (error.options.problems?.map(problemText) ?? [error.message]).map((text) => `policyYaml: ${text}`),
  )
}

function newText(row: PolicyRow, text: string, { tests, passed }: Checked): PolicyChanges {
  const version = row.version + 1
  const active = passed ? { activeYaml: text, activeVersion: version } : {}
  return { policyYaml: text, version, tests, ...active }
}

function stated(fields: PolicyFields): PolicyChanges {
  const { policyYaml: _text, ...record } = fields
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
}

async function existing(q: Query, id: string): Promise<PolicyRow> {
  const row = await lockPolicy(q, id)
  if (row !== undefined) return row
  throw new ChaperoneError('not_found', {
    detail: `There is no policy ${id}. GET /api/dashboard/policies lists the policies.`,
  })
}

function outdated(row: PolicyRow, expected: number): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `The policy is at version ${row.version}, not ${expected}, because another change was saved. Read it again.`,
    extra: { version: row.version },
  })
}

async function note(
  q: Query,
  by: Actor,
  type: `policy.${'created' | 'updated' | 'enabled' | 'disabled'}`,
  row: PolicyRow,
  fields?: readonly string[],
): Promise<void> {
  const { id, name, version, activeVersion } = row
  const details = {
    policy_id: id,
    name,
    version,
    active_version: activeVersion,
    ...(fields ? { fields } : {}),
  }
  await recordEvent(q, { orgId: row.orgId, actor: by, type, details })
}
