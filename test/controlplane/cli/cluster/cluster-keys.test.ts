import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { rotateClusterKey } from '../../../../controlplane/cli/cluster/cluster-keys.ts'
import type { Kubectl } from '../../../../controlplane/cli/cluster/kubectl.ts'
import { masterKeyId, parseMasterKeys } from '../../../../controlplane/crypto/master-keys.ts'

/** A cluster whose pods have the Secret's former content for the first calls, and then need two calls to encrypt. */
function cluster(first: Buffer, podCalls: number) {
  const texts = [`${first.toString('base64')}\n`]
  const now = () => texts.at(-1) ?? ''
  let asked = 0
  const status = () => {
    asked += 1
    const [hasFile, isComplete] = [asked > podCalls, asked > podCalls + 2]
    const keys = parseMasterKeys(hasFile ? now() : (texts[0] ?? ''), 'pod').keys.map(masterKeyId)
    const [old, newest] = [masterKeyId(first), keys.at(-1) ?? '']
    return {
      ...{ keys, sealing_key: hasFile ? newest : old, is_complete: !hasFile || isComplete },
      ...{ secrets: hasFile && !isComplete ? { [old]: 3, [newest]: 1 } : { [newest]: 4 }, waiting_for: [] },
    }
  }
  const kubectl: Kubectl = {
    run: async (...args) => {
      expect(args.join(' ')).toContain('exec -n chaperone-system deployment/chaperone-control-plane')
      return JSON.stringify(status())
    },
    async input(text, ...args) {
      expect(args).toEqual(['replace', '-f', '-'])
      const given = JSON.parse(text) as { data: Record<string, string>; metadata: unknown }
      expect(given).toMatchObject({ metadata: { resourceVersion: '7' }, data: { 'admin.token': 'kept' } })
      texts.push(Buffer.from(given.data['master.key'] ?? '', 'base64').toString())
      return ''
    },
    object: async <T>() =>
      ({
        metadata: { resourceVersion: '7' },
        data: { 'master.key': Buffer.from(now()).toString('base64'), 'admin.token': 'kept' },
      }) as T,
    forward: () => Promise.reject(new Error('unused')),
  }
  return { kubectl, texts }
}

test('adds a key to the Secret, waits until the pods have encrypted everything with it, and removes the former one', async () => {
  const first = randomBytes(32)
  const { kubectl, texts } = cluster(first, 3)
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const rotated = await rotateClusterKey(kubectl, 'chaperone-system', { print, pollMs: 1 })
  expect(texts).toHaveLength(3)
  const [, both = '', after = ''] = texts
  expect(both.startsWith(texts[0] ?? '-')).toBe(true)
  expect(after).toBe(`root ${texts[0]}${both.slice(texts[0]?.length)}`)
  expect(rotated).toEqual({ key: rotated.key, former: [masterKeyId(first)], secrets: 4 })
  expect(lines).toEqual([
    `Added master key ${rotated.key} to Secret chaperone-system/chaperone-keys.`,
    `Master key ${rotated.key} is not used for encryption yet.`,
    `Master key ${rotated.key} encrypts new secrets; 3 stored secrets are still encrypted with a former key.`,
  ])
})

test('continues a rotation whose key is in the Secret already', async () => {
  const first = randomBytes(32)
  const { kubectl, texts } = cluster(first, 0)
  texts.push(`${texts[0]}${randomBytes(32).toString('base64')}\n`)
  await rotateClusterKey(kubectl, 'chaperone-system', { print: () => undefined, pollMs: 1 })
  expect(texts).toHaveLength(3)
})
