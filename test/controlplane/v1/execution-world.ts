import { eventually } from '../../support/eventually.ts'
import { CONNECTOR_TYPES, HOSTS, storedSecret } from '../../support/every-connector.ts'
import { type Recorder, replyJson, startRecorder } from '../../support/recorder.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { at } from '../routes/start.ts'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts'
import { ENROL_TOKEN, startWorld, type TestAgent, type World } from './world.ts'

/** A control plane, the real process of its local gateway, and one upstream behind connectors of all types. */
export type ExecutionWorld = AsyncDisposable & {
  readonly world: World
  readonly gateway: GatewayProcess
  readonly upstream: Recorder
  /** Waits until the process of the gateway has what was changed for it a moment ago. */
  applied(): Promise<void>
  /** Sets a permission of the local gateway and waits until its process has it. */
  permit(type: string, pattern: string, decision: string): Promise<void>
  submit(agent: TestAgent, spec: object): Promise<Submitted>
  /** The same, and where a person is needed he says yes. */
  allowed(agent: TestAgent, spec: object): Promise<Submitted>
  execute(agent: TestAgent, action: { id: string; token: string }): ReturnType<TestAgent['call']>
}

export type Submitted = { readonly id: string; readonly token: string; readonly approval: string }

export async function startExecutionWorld(env: Record<string, string> = {}): Promise<ExecutionWorld> {
  const world = await startWorld(env)
  const ca = createTestCa()
  const tls = ca.issue(...CONNECTOR_TYPES.flatMap((type) => [...HOSTS[type]]))
  const upstream = await startRecorder({ tls, answer: replyJson({ done: true }, 201) })
  const own = new Set(['generic', 'webhook', 'mcp'])
  for (const type of CONNECTOR_TYPES) {
    const domains = own.has(type) ? { domains: HOSTS[type] } : {}
    const body = { type, token: storedSecret(type), ...domains }
    const made = await world.admin('POST', '/api/dashboard/connectors', body)
    if (made.status !== 200) throw new Error(made.text)
  }
  const route = { url: `https://127.0.0.1:${upstream.port}`, allowPrivateAddresses: true, caBundle: ca.cert }
  await world.sql("update connectors set spec = spec || jsonb_build_object('upstream', $1::jsonb)", [route])
  await world.sql('update config_version set version = version + 1')
  const gateway = await startGatewayProcess(world.plane.url, ENROL_TOKEN)
  const applied: ExecutionWorld['applied'] = async () => {
    const [newest] = await world.sql<{ version: string }>('select version from config_version')
    await eventually('the gateway has it', async () => {
      const { body } = await world.admin('GET', '/api/dashboard/gateway')
      const live = at<{ applied_version: number | null } | null>(body, 'gateways', 0, 'live')
      return (live?.applied_version ?? 0) >= Number(newest?.version) ? true : null
    })
  }
  const permit: ExecutionWorld['permit'] = async (connector_type, action_pattern, decision) => {
    const body = { gateway_name: 'default/local', connector_type, action_pattern, decision }
    const made = await world.admin('POST', '/api/dashboard/permissions', body)
    if (made.status !== 200) throw new Error(made.text)
    await applied()
  }
  for (const type of CONNECTOR_TYPES) await permit(type, `${type}.*`, 'allow')
  return {
    ...{ world, gateway, upstream, applied, permit, submit },
    async allowed(agent, spec) {
      const action = await submit(agent, spec)
      if (action.approval === undefined) return action
      const path = `/api/v1/approvals/${action.approval}/respond`
      const { body } = await world.admin('POST', path, { decision: 'approve' })
      return { ...action, token: at(body, 'decision_token') }
    },
    execute: (agent, { id, token }) =>
      agent.call('POST', `/api/v1/actions/${id}/execute`, { decision_token: token }),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await upstream.close()
      await world[Symbol.asyncDispose]()
    },
  }
}

async function submit(agent: TestAgent, given: object): Promise<Submitted> {
  const spec = given as { type: string; resource?: object }
  const action_spec = { ...spec, resource: { provider: spec.type.split('.')[0], ...spec.resource } }
  const { body, text } = await agent.call('POST', '/api/v1/actions', { action_spec })
  if (body['status'] !== 'allowed' && body['status'] !== 'pending_approval') throw new Error(text)
  const { action_request_id: id, decision_token: token } = body as Record<string, string>
  return { id: id ?? '', token: token ?? '', approval: at(body, 'approval', 'id') }
}
