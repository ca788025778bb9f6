import { describe, expect, test } from 'vitest'
import { captureRules } from '../../core/capture/rules.ts'
import { createPodNetwork, noNamespaces } from './network.ts'

const reason = noNamespaces()

describe('the rules', () => {
  test('are one table for both address families that is replaced atomically', () => {
    const text = captureRules({ proxyUid: 'define' })
    expect(text).toMatch(/^table inet chaperone\ndelete table inet chaperone\ntable inet chaperone \{\n/)
    expect(text.match(/^table/gm)).toHaveLength(2)
    expect(text).toContain('$proxy_uid')
  })

  test('exempt no user where none is given', () => {
    const text = captureRules({ proxyUid: 'nobody' })
    expect(text).not.toContain('skuid')
    expect(text).toContain('policy drop')
  })

  test('do not depend on time or machine', () => {
    expect(captureRules({ proxyUid: 'define' })).toBe(captureRules({ proxyUid: 'define' }))
    expect(captureRules({ proxyUid: 7, adminPorts: [15_021] })).toContain('skuid != 7 reject with tcp reset')
  })

  test.skipIf(reason !== null)(
    'load with nft unchanged, twice, for a uid, a define and without an exempt uid',
    async () => {
      await using network = await createPodNetwork()
      for (const uid of [1_912_345_678, 1_912_345_678]) network.loadRules(uid)
      const listed = network.nft('list', 'table', 'inet', 'chaperone')
      expect(listed.match(/chain /g)).toHaveLength(3)
      expect(listed).toContain('meta skuid 1912345678')
      for (const proxyUid of [5, 'nobody'] as const)
        network.load(captureRules({ proxyUid, adminPorts: [15_021] }))
    },
  )
})
