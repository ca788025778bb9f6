import { describe, expect, test } from 'vitest'
import { GatewayProcess, OperatorState } from '../../../core/wire/operator/operator.ts'
import { createGatewayStates, mergeStates } from '../../../operator/control/gateway-states.ts'

const process = (changes: Partial<GatewayProcess> = {}) =>
  GatewayProcess.parse({
    ...{ gateway: 'team/prod', process_id: 'p1', covered_version: 10, has_kill_state: true, rejected: null },
    ...changes,
  })
const state = (processes: GatewayProcess[], kills: OperatorState['kills'] = []) =>
  OperatorState.parse({ version: 10, kills, processes })

test('states of several replicas are merged to the most complete one', () => {
  const here = state([process({ covered_version: 10, rejected: 'why' })])
  const there = state([
    process({ covered_version: 12, has_kill_state: false }),
    process({ process_id: 'p2' }),
  ])
  expect(mergeStates([here, there])?.processes).toEqual([
    process({ covered_version: 12, rejected: 'why' }),
    process({ process_id: 'p2' }),
  ])
  expect(mergeStates([])).toBeNull()
})

describe('the states of the Gateways', () => {
  const other = process({ process_id: 'p2', gateway: 'team/other' })

  test('report a change of one Gateway for that Gateway only', () => {
    const states = createGatewayStates()
    expect(states.put(state([process(), other]))).toBeNull()
    expect(states.put(state([process(), other]))).toEqual(new Set())
    const behind = [process({ covered_version: 9 }), other]
    expect(states.put(state(behind))).toEqual(new Set(['team/prod']))
    expect(states.put(state([process()]))).toEqual(new Set(['team/prod', 'team/other']))
  })

  test('report no change for a new version that all processes apply', () => {
    const states = createGatewayStates()
    states.put(state([process(), other]))
    const newer = [process({ covered_version: 11 }), { ...other, covered_version: 11 }]
    expect(states.put({ ...state(newer), version: 11 })).toEqual(new Set())
  })

  test('report a changed kill switch for all Gateways', () => {
    const states = createGatewayStates()
    states.put(state([process()]))
    const kills = [{ scope: 'all', source: 'configmap', reason: '', since: '' }]
    expect(states.put(state([process()], kills))).toBeNull()
  })

  test('count a process as lagging only for a version that it lacks for 60 s', () => {
    let now = 0
    const states = createGatewayStates(() => now)
    const put = (version: number, covered_version: number) =>
      states.put({ ...state([process({ covered_version })]), version })
    const lagging = () => states.of('team/prod')?.lagging.length
    // A busy installation: the process is always one version behind, and applies each within 40 s.
    for (let version = 10; version < 14; version += 1) {
      put(version, version - 1)
      now += 40_000
      expect(lagging()).toBe(0)
    }
    put(14, 12)
    now += 60_001
    expect(lagging()).toBe(1)
  })
})
