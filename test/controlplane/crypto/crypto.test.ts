import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { parseMasterKeys } from '../../../controlplane/crypto/master-keys.ts'
import { createPasswords } from '../../../controlplane/crypto/password.ts'
import { pooledRandom } from '../../../controlplane/crypto/random.ts'
import { readOrCreateToken, readSecretFile } from '../../../controlplane/crypto/secret-files.ts'
import { issueAgentKey, issueUserKey, matchesHash } from '../../../controlplane/crypto/tokens.ts'
import { sha256 } from '../../../runtime/sha256.ts'

describe('random bytes from the pool', () => {
  test('are used once for any requested lengths, and are independent', () => {
    const drawn = Array.from({ length: 20_000 }, (_, n) => Buffer.from(pooledRandom(16 + (n % 32))))
    expect(new Set(drawn.map((bytes) => bytes.toString('hex'))).size).toBe(20_000)
    expect(drawn.every((bytes, n) => bytes.length === 16 + (n % 32))).toBe(true)
    const all = Buffer.concat(drawn)
    const counts = new Map<number, number>()
    for (const byte of all) counts.set(byte, (counts.get(byte) ?? 0) + 1)
    // Bounds far beyond chance: bytes of the pool that were not filled would be zeros.
    for (let byte = 0; byte < 256; byte++) {
      expect(counts.get(byte) ?? 0).toBeGreaterThan(all.length / 256 / 2)
      expect(counts.get(byte) ?? 0).toBeLessThan((all.length / 256) * 2)
    }
    const mine = pooledRandom(8)
    const before = [...mine]
    pooledRandom(8_000)
    pooledRandom(8_000)
    expect([...mine]).toEqual(before)
    expect(() => pooledRandom(8 * 1024 + 1)).toThrow(RangeError)
  })
})

describe('a sealed secret', () => {
  const keyring = createKeyring(randomBytes(32))

  test('decrypts to the secret, and has a different ciphertext each time', () => {
    const a = keyring.seal('sécret', 'conn_1')
    expect(keyring.open(a, 'conn_1')).toBe('sécret')
    expect(keyring.seal('sécret', 'conn_1').ciphertext).not.toBe(a.ciphertext)
    expect(JSON.stringify(a)).not.toContain('sécret')
  })

  test('cannot be decrypted in another row, with another key, or with a changed bit', () => {
    const sealed = keyring.seal('x', 'conn_1')
    expect(() => keyring.open(sealed, 'conn_2')).toThrow()
    expect(() => createKeyring(randomBytes(32)).open(sealed, 'conn_1')).toThrow(
      /Start with the master key of this database/,
    )
    const bytes = Buffer.from(sealed.ciphertext, 'base64')
    bytes[0] = (bytes[0] ?? 0) ^ 1
    expect(() => keyring.open({ ...sealed, ciphertext: bytes.toString('base64') }, 'conn_1')).toThrow()
    const short = Buffer.from(sealed.ciphertext, 'base64').subarray(0, 8).toString('base64')
    expect(() => keyring.open({ ...sealed, ciphertext: short }, 'conn_1')).toThrow()
  })
})

describe('passwords', () => {
  test('are hashed with a salt and verified; verification without a user is false', async () => {
    const passwords = createPasswords()
    const [a, b] = await Promise.all([
      passwords.hash('correct horse', 'a'),
      passwords.hash('correct horse', 'a'),
    ])
    expect(a).not.toBe(b)
    expect(await passwords.verify('correct horse', a, 'a')).toBe(true)
    expect(await passwords.verify('wrong', a, 'a')).toBe(false)
    expect(await passwords.verify('correct horse', undefined, 'a')).toBe(false)
  })

  test('of one caller with many requests neither delay nor reject other callers', async () => {
    const passwords = createPasswords({ N: 2 ** 8, r: 8, p: 1 })
    const order: string[] = []
    const hashed = (turn: string) =>
      passwords.hash('x', turn).then(
        () => order.push(turn),
        () => order.push(`${turn} refused`),
      )
    const flood = Array.from({ length: 400 }, () => hashed('flood'))
    const others = ['one', 'two', 'three'].map(hashed)
    await Promise.all([...flood, ...others])
    expect(order.filter((turn) => turn === 'flood refused').length).toBe(400 - 152 + 3)
    const done = order.filter((turn) => turn !== 'flood refused')
    for (const turn of ['one', 'two', 'three']) expect(done.indexOf(turn)).toBeLessThan(20)
  })

  test('beyond the limit of the queue are rejected', async () => {
    const passwords = createPasswords()
    const results = await Promise.allSettled(
      Array.from({ length: 160 }, () => passwords.verify('x', 'nonsense', 'a')),
    )
    const refused = results.filter(
      (result) => result.status === 'rejected' && result.reason.code === 'rate_limited',
    )
    expect(refused).toHaveLength(8)
  })
})

describe('keys', () => {
  test('have a prefix for their kind and 256 random bits, and match their hash only', () => {
    const live = issueAgentKey('production')
    expect(live.key).toMatch(/^svc_live_[0-9A-Za-z]{43}$/)
    expect(issueAgentKey('staging').key).toMatch(/^svc_test_/)
    expect(issueUserKey().key).toMatch(/^svc_user_/)
    expect(live.prefix).toBe(live.key.slice(0, 15))
    expect(matchesHash(live.key, live.sha256)).toBe(true)
    expect(matchesHash(`${live.key}x`, live.sha256)).toBe(false)
    expect(matchesHash('', sha256('x'))).toBe(false)
    expect(matchesHash('anything', null)).toBe(false)
  })

  test('use every character with equal probability', () => {
    const counts = new Map<string, number>()
    for (let n = 0; n < 1_488; n++) {
      for (const char of issueAgentKey('x').key.slice(9)) counts.set(char, (counts.get(char) ?? 0) + 1)
    }
    // 64,000 characters over 62: 1,032 each, standard deviation 32; a modulo bias would put eight of them at 1,250.
    expect(counts.size).toBe(62)
    expect(Math.max(...counts.values())).toBeLessThan(1_210)
  })
})

describe('secret files', () => {
  test('are created once, readable by their owner only, by concurrent starts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chaperone-secrets-'))
    const path = join(folder, 'admin.token')
    const tokens = await Promise.all(
      Array.from({ length: 8 }, () => readOrCreateToken(path, 'ADMIN_TOKEN_FILE')),
    )
    expect(new Set(tokens).size).toBe(1)
    expect((await readFile(path, 'utf8')).trim()).toBe(tokens[0])
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    await rm(folder, { recursive: true })
  })

  test('that are missing, empty or malformed are reported with the setting', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chaperone-secrets-'))
    await writeFile(join(folder, 'empty'), ' \n')
    await expect(readSecretFile(join(folder, 'none'), 'MASTER_KEY_FILE')).rejects.toThrow(
      /^MASTER_KEY_FILE: cannot read .*none \(ENOENT\)/,
    )
    await expect(readSecretFile(join(folder, 'empty'), 'MASTER_KEY_FILE')).rejects.toThrow(/is empty/)
    expect(() => parseMasterKeys('c2hvcnQ=', 'MASTER_KEY')).toThrow(/^MASTER_KEY does not contain 32 bytes/)
    const [hex, base64] = [Buffer.alloc(32, 0xab), Buffer.alloc(32, 7)]
    expect(parseMasterKeys('ab'.repeat(32), 'MASTER_KEY')).toEqual({ root: hex, keys: [hex] })
    const file = `${base64.toString('base64')}\n`
    expect(parseMasterKeys(file, 'MASTER_KEY')).toEqual({ root: base64, keys: [base64] })
    await rm(folder, { recursive: true })
  })
})
