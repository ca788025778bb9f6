import { describe, expect, test } from 'vitest'
import type { Exchange } from '../../../sidecar/pipeline/exchange.ts'
import { createPacer } from '../../../sidecar/pipeline/pacer.ts'
import { createStageClock } from '../../../sidecar/pipeline/stage-runner.ts'
import { testExchange } from './test-exchange.ts'

/** A pacer whose turns the test begins. */
function start() {
  const scheduled: Array<() => void> = []
  const pacer = createPacer(
    createStageClock(() => 0),
    (wake) => void scheduled.push(wake),
  )
  const order: string[] = []
  const exchangeOf = (agent: string): Exchange =>
    Object.assign(testExchange({}), { agent: { name: agent } }) as unknown as Exchange
  return {
    pacer,
    order,
    exchangeOf,
    ask(agent: string, label = agent, exchange = exchangeOf(agent)) {
      return pacer.turn(exchange).then(
        () => order.push(label),
        () => order.push(`${label} ended`),
      )
    },
    async turns(count: number) {
      for (let n = 0; n < count; n++) {
        expect(scheduled.length).toBeLessThanOrEqual(1)
        scheduled.shift()?.()
        await new Promise((resolve) => setImmediate(resolve))
      }
      return scheduled.length
    },
  }
}

describe('turns', () => {
  test('of an agent come next to those of another, however many it waits for', async () => {
    const { ask, turns, order } = start()
    for (let n = 0; n < 50; n++) void ask('flood', `flood ${n}`)
    void ask('calm')
    await turns(2)
    expect(order).toEqual(['flood 0', 'calm'])
    await turns(49)
    expect(order).toHaveLength(51)
  })

  test('are given in order to one agent, and around to several', async () => {
    const { ask, turns, order } = start()
    for (const label of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void ask(label[0] ?? '', label)
    await turns(6)
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
    expect(await turns(1)).toBe(0)
  })

  test('are not won by asking again, nor by coming back', async () => {
    const { pacer, exchangeOf, ask, turns, order } = start()
    const exchange = exchangeOf('loop')
    const loop = async () => {
      for (let n = 0; n < 10; n++) {
        await pacer.turn(exchange)
        order.push('loop')
      }
    }
    void loop()
    void ask('x')
    void ask('y')
    await turns(3)
    expect(order).toEqual(['loop', 'x', 'y'])
    await turns(9)
    expect(order.filter((label) => label === 'loop')).toHaveLength(10)
  })

  test('of an exchange that was ended are passed on', async () => {
    const { ask, exchangeOf, turns, order } = start()
    const exchange = exchangeOf('a')
    void ask('a', 'a1', exchange)
    void ask('a', 'a2')
    exchange.abort.abort('gone')
    await turns(2)
    expect(order).toEqual(['a1 ended', 'a2'])
  })

  test('of requests without an agent are one queue', async () => {
    const { pacer, turns, order } = start()
    for (const n of [1, 2])
      void pacer.turn(testExchange({}) as unknown as Exchange).then(() => order.push(`${n}`))
    await turns(2)
    expect(order).toEqual(['1', '2'])
  })
})
