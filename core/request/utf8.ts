/** Reports whether the bytes continue valid UTF-8. If `isMore` is true, the last character may be incomplete. */
export function isUtf8(
  decoder: InstanceType<typeof TextDecoder>,
  bytes: Uint8Array,
  isMore: boolean,
): boolean {
  try {
    decoder.decode(bytes, { stream: isMore })
    return true
  } catch {
    return false
  }
}
