import { expect, test } from 'vitest'
import { BodyIntake } from '../../../sidecar/listener/body-intake.ts'

const KIB = 1024
const source = { want: () => undefined, hold: () => undefined }

/** Pieces that differ, and all of them together. */
function piecesOf(count: number, bytes: number) {
  const pieces = Array.from({ length: count }, (_, n) => Buffer.alloc(bytes, n + 1))
  return { pieces, whole: Buffer.concat(pieces) }
}

async function collect(body: ReturnType<BodyIntake['forward']>): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return body
  const parts: Buffer[] = []
  for await (const part of body) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

for (const declared of [200 * KIB, null]) {
  const what = declared === null ? 'without a length' : 'with a length'

  test(`a body ${what} is read whole, whatever was read of it before`, async () => {
    const { pieces, whole } = piecesOf(20, 10 * KIB)
    const intake = new BodyIntake(source, declared)
    for (const piece of pieces.slice(0, 3)) intake.push(piece)
    const reading = intake.buffer(1000 * KIB)
    for (const piece of pieces.slice(3)) intake.push(piece)
    intake.complete()
    expect((await reading)?.equals(whole)).toBe(true)
    expect((await collect(intake.forward())).equals(whole)).toBe(true)
  })

  test(`a body ${what} that did not end in time is forwarded with what was read`, async () => {
    const { pieces, whole } = piecesOf(20, 10 * KIB)
    const intake = new BodyIntake(source, declared)
    for (const piece of pieces.slice(0, 3)) intake.push(piece)
    const ending = intake.endsWithin(1, 1000 * KIB)
    for (const piece of pieces.slice(3, 12)) intake.push(piece)
    expect(await ending).toBe(false)
    const sent = collect(intake.forward())
    for (const piece of pieces.slice(12)) intake.push(piece)
    intake.complete()
    expect((await sent).equals(whole)).toBe(true)
  })

  test(`a body ${what} that is released keeps nothing`, async () => {
    const { pieces } = piecesOf(20, 10 * KIB)
    const intake = new BodyIntake(source, declared)
    const reading = intake.buffer(1000 * KIB)
    for (const piece of pieces) intake.push(piece)
    intake.complete()
    await reading
    intake.release()
    expect(intake.forward()).toHaveLength(0)
  })
}

test('a second reader with a larger limit continues where the first one stopped', async () => {
  const { pieces, whole } = piecesOf(20, 10 * KIB)
  const intake = new BodyIntake(source, null)
  const first = intake.buffer(64 * KIB)
  for (const piece of pieces.slice(0, 8)) intake.push(piece)
  expect(await first).toBe(null)
  const second = intake.buffer(1000 * KIB)
  for (const piece of pieces.slice(8)) intake.push(piece)
  intake.complete()
  expect((await second)?.equals(whole)).toBe(true)
})

test('a body that is longer than its length says is kept whole: the framing refuses it', async () => {
  const { pieces, whole } = piecesOf(20, 10 * KIB)
  const intake = new BodyIntake(source, 150 * KIB)
  const reading = intake.buffer(1000 * KIB)
  for (const piece of pieces) intake.push(piece)
  intake.complete()
  expect((await reading)?.equals(whole)).toBe(true)
})
