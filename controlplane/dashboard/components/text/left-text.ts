/** Returns the text of a countdown with its two largest units. The text contains seconds only in the last hour. */
export function leftText(leftMs: number): string {
  if (leftMs <= 0) return 'expired'
  const seconds = Math.ceil(leftMs / 1_000)
  if (seconds < 60) return `${seconds} s left`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s left`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min left`
}
