import type { FloorRules } from '../../../core/crd/gateway/floors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import {
  CreatePolicyBody,
  PatchPolicyBody,
  PolicyList,
  RemovePolicyQuery,
  SavedPolicy as SavedPolicyReply,
} from '../../../core/wire/policies.ts'
import { Ok } from '../../../core/wire/schema/fields.ts'
import { visibleRecords } from '../../http/auth/rights.ts'
import { type Route, route } from '../../http/route.ts'
import { notReplaced } from '../../sync/sections/built-in-policies.ts'
import { actorOf } from '../audit/actor.ts'
import type { ReplayedEdit } from '../manifests/editing/edit-replay.ts'
import type { Origins } from '../manifests/object-origins.ts'
import type { PolicyRow } from './rows.ts'
import type { Policies, SavedPolicy } from './service.ts'
import { createTextProblems, policyDetails } from './view.ts'

export type PolicyRoutesDeps = {
  readonly policies: Policies
  readonly replayedEdit: ReplayedEdit
  readonly floorRules: FloorRules
  readonly origins: (namespaces: Namespaces) => Promise<Origins>
}

export function createPolicyRoutes(deps: PolicyRoutesDeps): readonly Route[] {
  return [list(deps), create(deps), patch(deps), remove(deps)]
}

const REPLACED =
  'A manifest of the same name replaces this built-in policy, so the built-in policy has no effect.'

function list({ policies, floorRules, origins: readOrigins }: PolicyRoutesDeps): Route {
  const problemsOf = createTextProblems()
  return route({
    method: 'GET',
    path: '/api/dashboard/policies',
    auth: 'policies/get',
    isNamespaced: true,
    summary: 'Lists all policies with their texts and test results',
    response: PolicyList,
    handler: async ({ namespaces }) => {
      const [rows, origins] = await Promise.all([policies.list(namespaces), readOrigins(namespaces)])
      const standing = new Set(notReplaced(rows, floorRules.platformNamespaces))
      const problems = (row: PolicyRow) => (standing.has(row) ? problemsOf(row) : [REPLACED])
      const details = (row: PolicyRow) => policyDetails(row, origins.of('Policy', row), problems(row))
      return { policies: rows.map(details) }
    },
  })
}

function create(deps: PolicyRoutesDeps): Route {
  const { policies } = deps
  return route({
    method: 'POST',
    path: '/api/dashboard/policies',
    auth: 'policies/update',
    summary: 'Creates a policy and runs its tests',
    body: CreatePolicyBody,
    response: SavedPolicyReply,
    handler: async ({ body, ...caller }) => {
      const create = () => policies.create(actorOf(caller.principal), body)
      return savedView(await deps.replayedEdit(visibleRecords(caller), create))
    },
  })
}

function patch(deps: PolicyRoutesDeps): Route {
  const { policies } = deps
  return route({
    method: 'PATCH',
    path: '/api/dashboard/policies',
    auth: 'policies/update',
    summary:
      'Changes a policy; 409 when another change was saved, so that expected_version is no longer its version',
    body: PatchPolicyBody,
    response: SavedPolicyReply,
    handler: async ({ body, ...caller }) => {
      const { policy_id: id, expected_version: expected, ...fields } = body
      const update = () => policies.update(actorOf(caller.principal), id, fields, expected)
      return savedView(await deps.replayedEdit(visibleRecords(caller), update))
    },
  })
}

function remove(deps: PolicyRoutesDeps): Route {
  const { policies } = deps
  return route({
    method: 'DELETE',
    path: '/api/dashboard/policies',
    auth: 'policies/update',
    summary: 'Removes a policy',
    query: RemovePolicyQuery,
    response: Ok,
    handler: async ({ query, ...caller }) => {
      const remove = () => policies.remove(actorOf(caller.principal), query.policy_id)
      await deps.replayedEdit(visibleRecords(caller), remove)
      return { ok: true as const }
    },
  })
}

function savedView({ row, warnings }: SavedPolicy): SavedPolicyReply {
  const active = row.activeVersion === row.version
  return {
    ok: true as const,
    policy_id: row.id,
    version: row.version,
    active,
    tests: [...row.tests],
    warnings: [...warnings],
  }
}
