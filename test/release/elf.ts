/** Machine of an ELF file (`e_machine` of elf(5)), by Debian's name of the architecture. */
export const ELF_MACHINE = { amd64: 62, arm64: 183 } as const

const [PT_DYNAMIC, DT_NEEDED, DT_STRTAB, PT_LOAD] = [2, 1, 5, 1]

export type ElfFile = {
  readonly machine: number
  /** Names of the shared libraries that the file loads. */
  readonly needed: readonly string[]
}

/** Reads a 64-bit little-endian ELF file (elf(5)); null for any other file. */
export function readElf(bytes: Uint8Array): ElfFile | null {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (file.length < 64 || file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2) return null
  const u64 = (at: number) => Number(file.readBigUInt64LE(at))
  const [start, size, count] = [u64(32), file.readUInt16LE(54), file.readUInt16LE(56)]
  const segments = Array.from({ length: count }, (_, index) => {
    const at = start + index * size
    return { type: file.readUInt32LE(at), offset: u64(at + 8), address: u64(at + 16), length: u64(at + 32) }
  })
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC)
  const entries = Array.from({ length: (dynamic?.length ?? 0) / 16 }, (_, index) => {
    const at = (dynamic?.offset ?? 0) + index * 16
    return [u64(at), u64(at + 8)] as const
  })
  const table = entries.find(([tag]) => tag === DT_STRTAB)?.[1] ?? 0
  const loaded = segments.find(
    ({ type, address, length }) => type === PT_LOAD && table >= address && table < address + length,
  )
  const strings = table - (loaded?.address ?? 0) + (loaded?.offset ?? 0)
  const textAt = (at: number) => file.toString('latin1', at, file.indexOf(0, at))
  const needed = entries.flatMap(([tag, value]) => (tag === DT_NEEDED ? [textAt(strings + value)] : []))
  return { machine: file.readUInt16LE(18), needed }
}
