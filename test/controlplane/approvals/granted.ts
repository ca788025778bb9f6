import { expect } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { type Enrolled, holdBody, person, type Replica } from '../sync/harness.ts'

export type Granted = {
  readonly id: string
  readonly approvalId: string
  /** Requests approval for another request like the granted one, and returns `created` or `approved`. */
  again(): Promise<string>
}

const ADMIN = person({ role: 'admin', groups: ['security'], email: 'admin@example.com' })

/** Holds a request of the agent by a policy, and answers it with a grant for one hour and two uses. */
export async function grantFor(replica: Replica, gateway: Enrolled, agent: string): Promise<Granted> {
  const policyId = newId('policy')
  await replica.db.query(
    `insert into policies (id, org_id, name, description, priority, policy_yaml, active_yaml, version, active_version, source)
     values ($1, $2, $1, '', 100, $3, $3, 1, 1, 'api')`,
    [policyId, replica.orgId, 'rules:\n  - { name: merges, decision: require_approval }\n'],
  )
  const set = { policy: `${policyId}: merges`, groups: ['security'], distinct: false }
  const hold = async (number: string) => {
    const body = holdBody({
      ...{ agent, connector_name: 'codehost', parameters: { number } },
      binding: newId('hold').padEnd(64, '0').slice(-64),
      held_by: {
        ...{ common_sha256: 'a'.repeat(64), account_sha256: 'a'.repeat(64) },
        ...{ source: 'policy', permission: 'perm_1' },
        policies: [{ ref: `${policyId}@1`, rule: set.policy, groups: set.groups, distinct: false }],
      },
      required_groups: [set],
      required_approver_groups: set.groups,
    })
    const reply = await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    return { id: (reply.body['approval'] as ApprovalCard).id, outcome: String(reply.body['outcome']) }
  }
  const { id: approvalId } = await hold('1')
  const grant = { duration: '1h', max_uses: 2 }
  const given = { id: approvalId, approved: true, grant }
  const { body } = await replica.user(ADMIN, 'POST', '/api/dashboard/proxy-approvals', given)
  expect(body, JSON.stringify(body)).toMatchObject({ status: 'approved' })
  let number = 1
  return {
    ...{ id: String(body['grant_id']), approvalId },
    async again() {
      number += 1
      return (await hold(String(number))).outcome
    },
  }
}

export async function grantStatus(
  replica: Replica,
  id: string,
): Promise<Record<string, unknown> | undefined> {
  const { body } = await replica.user(ADMIN, 'GET', '/api/dashboard/grants')
  return (body['grants'] as Array<Record<string, unknown>>).find((grant) => grant['id'] === id)
}

export async function revokeGrant(replica: Replica, id: string): Promise<void> {
  const reply = await replica.user(ADMIN, 'DELETE', `/api/dashboard/grants?grant_id=${id}`)
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
}
