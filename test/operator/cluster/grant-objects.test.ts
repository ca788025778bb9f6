import { expect, test } from 'vitest'
import { grantPermission } from '../../../core/crd/manifests/grant-permission.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { GrantObject } from '../../../core/wire/operator/grants.ts'
import type { KubeCall } from '../../../kube/transport.ts'
import { followGrants, type GrantsDeps } from '../../../operator/cluster/grant-objects.ts'
import { eventually } from '../../support/eventually.ts'

const SHOWN = grantPermission({
  ...{ id: 'grt_aB1', approvalId: 'apv_1', gateway: 'team/prod', agent: 'team/bot' },
  ...{ actionType: 'codehost.pr.merge', anyTarget: true, target: null, parameterNames: [] },
  ...{ maxUses: 2, createdBy: 'ann@example.com', expiresAt: '2099-01-01T00:00:00.000Z' },
})
const { spec, ...metadata } = SHOWN
const OBJECT = { metadata: { ...metadata, uid: 'uid-1', resourceVersion: '1' }, spec }
const offered = (grant: Partial<GrantObject> = {}): GrantObject => ({
  ...{ ...SHOWN, spec: { ...SHOWN.spec } },
  ...{ is_stored: false, ...grant },
})

type Given = {
  readonly grants: () => Promise<readonly GrantObject[]>
  readonly stored?: ReadonlyArray<typeof OBJECT>
  readonly answer?: (call: KubeCall) => Promise<unknown>
}

/** Follows for three reads, and returns the calls to the API server and the lines of the log. */
async function followed({ grants, stored = [], answer = async () => ({}) }: Given) {
  const calls: string[] = []
  const lines: string[] = []
  const ended = new AbortController()
  let reads = 0
  const deps = {
    client: {
      call(call: KubeCall) {
        calls.push(`${call.method} ${call.path}`)
        return answer(call)
      },
    },
    controlPlane: {
      async grants() {
        reads += 1
        return grants()
      },
    },
    permissions: {
      get: (key: string) => stored.find((each) => `${each.metadata.namespace}/${each.metadata.name}` === key),
      list: () => stored,
    },
    signal: ended.signal,
    log: { warn: (_: object, message: string) => lines.push(message), info: () => undefined },
  }
  const done = followGrants(deps as unknown as GrantsDeps, 1)
  await eventually('the grants are read three times', async () => (reads > 3 ? true : null))
  ended.abort()
  await done
  return { calls: [...new Set(calls)], lines }
}

const PATH = '/apis/chaperone.dev/v1alpha1/namespaces/team/permissions/grant-ab1'

test('an older control plane without the path leaves Permissions of grants as they are, and logs nothing', async () => {
  const grants = async () => {
    throw new ChaperoneError('validation', { detail: 'answered 404', extra: { status: 404 } })
  }
  expect(await followed({ grants, stored: [OBJECT] })).toEqual({ calls: [], lines: [] })
})

test('a control plane that is not reached leaves them too, and is logged once', async () => {
  const grants = async () => {
    throw new ChaperoneError('not_ready', { detail: 'connect ECONNREFUSED' })
  }
  const { calls, lines } = await followed({ grants, stored: [OBJECT] })
  expect(calls).toEqual([])
  expect(lines).toHaveLength(1)
})

test.each<[string, Given, readonly string[]]>([
  ['is written for a new grant', { grants: async () => [offered()] }, [`PATCH ${PATH}`]],
  ['is not written again after its deletion', { grants: async () => [offered({ is_stored: true })] }, []],
  ['stays as it is', { grants: async () => [offered({ is_stored: true })], stored: [OBJECT] }, []],
  ['is deleted with its grant', { grants: async () => [], stored: [OBJECT] }, [`DELETE ${PATH}`]],
  [
    'gets its label again',
    {
      grants: async () => [offered({ is_stored: true })],
      stored: [{ ...OBJECT, metadata: { ...OBJECT.metadata, labels: {} } }],
    },
    [`PATCH ${PATH}`],
  ],
  [
    'of another name with the label stays',
    {
      grants: async () => [],
      stored: [{ ...OBJECT, metadata: { ...OBJECT.metadata, name: 'ours' } }],
    },
    [],
  ],
])('the Permission of a grant %s', async (_, given, wanted) => {
  expect((await followed(given)).calls).toEqual(wanted)
})

test('a Permission that the API server refuses does not keep the others from being written', async () => {
  const other = offered({ name: 'grant-zz9' })
  const { calls, lines } = await followed({
    grants: async () => [offered(), other],
    answer: async ({ path }) => {
      if (path === PATH) throw new ChaperoneError('forbidden', { detail: 'the namespace is terminating' })
      return {}
    },
  })
  expect(calls).toEqual([`PATCH ${PATH}`, `PATCH ${PATH.replace('grant-ab1', 'grant-zz9')}`])
  expect(lines).toHaveLength(1)
})
