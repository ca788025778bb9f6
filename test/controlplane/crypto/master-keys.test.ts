import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import {
  masterKeyId,
  masterKeysText,
  parseMasterKeys,
  withNewKey,
  withoutFormerKeys,
} from '../../../controlplane/crypto/master-keys.ts'

const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)]
const single = { root: first, keys: [first] } as const

describe('a master key file', () => {
  test('has a key in each line, and keeps the first as root when it no longer decrypts', () => {
    const both = withNewKey(single, second)
    expect(parseMasterKeys(masterKeysText(both), 'file')).toEqual({ root: first, keys: [first, second] })
    const rotated = withoutFormerKeys(both)
    expect(masterKeysText(rotated)).toBe(`root ${first.toString('base64')}\n${second.toString('base64')}\n`)
    expect(parseMasterKeys(masterKeysText(rotated), 'file')).toEqual({ root: first, keys: [second] })
    const again = withoutFormerKeys(withNewKey(rotated, third))
    expect(parseMasterKeys(masterKeysText(again), 'file')).toEqual({ root: first, keys: [third] })
  })

  test('without a key, or with a damaged line, is an error that contains no key', () => {
    const line = second.toString('base64')
    expect(() => parseMasterKeys(`root ${line}\n`, 'FILE')).toThrow(
      /^FILE has the line "root" but no line with a master key/,
    )
    expect(() => parseMasterKeys(`${line}\n${line.slice(5)}\n`, 'FILE')).toThrow(
      /^FILE does not contain 32 bytes(?!.*==)/,
    )
    expect(() => parseMasterKeys('', 'FILE')).toThrow(/^FILE does not contain/)
  })

  test('with a second key is the first key for versions before rotations', () => {
    const text = masterKeysText(withNewKey(single, second))
    expect(Buffer.from(text.trim(), 'base64')).toEqual(first)
  })
})

describe('a keyring with several keys', () => {
  test('decrypts with each, encrypts with the selected one, and derives the same keys before and after', () => {
    const keyring = createKeyring(single)
    const [old, derived] = [keyring.seal('a', 'row'), keyring.derive('purpose')]
    keyring.reload(withNewKey(single, second))
    expect(keyring.id).toBe(masterKeyId(first))
    keyring.sealWith(masterKeyId(second))
    const sealed = keyring.seal('b', 'row')
    expect(sealed.key_id).toBe(masterKeyId(second))
    expect([keyring.open(old, 'row'), keyring.open(sealed, 'row')]).toEqual(['a', 'b'])
    const after = createKeyring(withoutFormerKeys(withNewKey(single, second)))
    expect(after.open(sealed, 'row')).toBe('b')
    expect(after.derive('purpose')).toEqual(derived)
    expect(() => after.open(old, 'row')).toThrow(
      `Stored secrets are encrypted with master key ${masterKeyId(first)}, but this process has ${masterKeyId(second)}.`,
    )
  })

  test('keeps a key that the file no longer has, and refuses another root and an unknown key', () => {
    const keyring = createKeyring(withNewKey(single, second))
    const old = keyring.seal('a', 'row')
    keyring.reload(withoutFormerKeys(withNewKey(single, second)))
    expect(keyring.keyIds).toEqual([masterKeyId(second)])
    expect(keyring.open(old, 'row')).toBe('a')
    expect(() => keyring.reload({ root: third, keys: [second] })).toThrow(/first key .* has changed/)
    expect(() => keyring.sealWith(masterKeyId(third))).toThrow(masterKeyId(third))
  })
})
