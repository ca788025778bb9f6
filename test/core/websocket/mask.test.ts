import { expect, test } from 'vitest'
import { applyMask } from '../../../core/websocket/frame.ts'

const KEY = Uint8Array.from([0x12, 0x34, 0x56, 0x78])

test.each([0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 64])(
  'masks %i bytes according to RFC 6455 at any offset',
  (length) => {
    for (let begin = 0; begin < 5; begin++)
      for (let offset = 0; offset < 9; offset++) {
        const whole = Uint8Array.from({ length: length + 16 }, (_, at) => (at * 37) % 256)
        const expected = whole.map((byte, at) => {
          const inside = at >= begin && at < begin + length
          return inside ? byte ^ (KEY[(offset + at - begin) % 4] ?? 0) : byte
        })
        applyMask(whole.subarray(begin, begin + length), KEY, offset)
        expect([...whole]).toEqual([...expected])
      }
  },
)
