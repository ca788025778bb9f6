import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import { eventually } from '../../support/eventually.ts'
import { type ControlWorld, startControlWorld } from './control-world.ts'

export const until = (what: string, isMet: () => boolean) => eventually(what, () => (isMet() ? true : null))

export function hold(binding = 'b1'): HoldBody {
  return {
    ...{ binding, agent: 'bot', act_id: 'act_1', connector: 'codehost', action_type: 'codehost.pr.merge' },
    ...{ target: 'acme/site', method: 'PUT', host: 'api.github.com', path: '/repos/acme/site/pulls/1/merge' },
    ...{ parameters: {}, risk_score: 0.5, risk_factors: [], matched_rule: null },
    ...{ required_approver_groups: [], requested_by_agent_text: null, body_sha256: null },
    ...{ headers: [], unread_body: null },
  }
}

export async function connected(
  options: Parameters<typeof startControlWorld>[0] = {},
): Promise<ControlWorld> {
  const world = await startControlWorld(options)
  await until('connection', () => world.control.heartbeats.isConnected)
  return world
}

export const never = () => new AbortController().signal
export const firstPending = (world: ControlWorld) => world.fake.pendingHolds()[0]?.id ?? ''
