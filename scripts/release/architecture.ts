/** Processor architectures of the released image. Debian and OCI have the same names for them. */
export const ARCHITECTURES = ['amd64', 'arm64'] as const
export type Architecture = (typeof ARCHITECTURES)[number]
