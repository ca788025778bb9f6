/** Catalogue rows for git over HTTP. The discovery request of a push (`info/refs`) has the same action as the push. */
export const GIT = `
  GET    /{owner}/{repo}/info/refs         git.push   write medium ??service=git-receive-pack @same contents:write,workflows:write
  GET    /{owner}/{repo}/info/refs         git.fetch  read  low    ??service=git-upload-pack contents:read
  POST   /{owner}/{repo}/git-receive-pack  git.push   write medium @opaque contents:write,workflows:write
  POST   /{owner}/{repo}/git-upload-pack   git.fetch  read  low @opaque contents:read
`
