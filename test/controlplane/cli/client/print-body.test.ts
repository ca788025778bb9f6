import { expect, test } from 'vitest'
import { printBody } from '../../../../controlplane/cli/client/print-body.ts'

async function* body(parts: readonly string[], failure?: Error) {
  for (const part of parts) yield Buffer.from(part, 'latin1')
  if (failure !== undefined) throw failure
}

async function printed(...given: Parameters<typeof body>) {
  let text = ''
  let parts = 0
  await printBody(
    body(...given),
    (lines) => {
      text += `${lines}\n`
    },
    () => {
      parts += 1
    },
  )
  return { text, parts }
}

test('lines are printed byte for byte, however the parts split them and their characters', async () => {
  const euro = Buffer.from('€').toString('latin1')
  const parts = ['a,"b\r', '\nc"\r\nd', `,${euro.slice(0, 1)}`, `${euro.slice(1)}\r\n`]
  expect(await printed(parts)).toEqual({ text: 'a,"b\r\nc"\r\nd,€\r\n', parts: 4 })
})

test('a last line without an end is printed', async () => {
  expect(await printed(['a\nb'])).toMatchObject({ text: 'a\nb\n' })
})

test('a response that ends early is an error, so that a part of an export is not taken for all of it', async () => {
  const lost = printed(['a\n'], new Error('terminated'))
  await expect(lost).rejects.toMatchObject({
    code: 'not_ready',
    message: expect.stringMatching(/ended early \(terminated\), so the output is not complete\./),
  })
})
