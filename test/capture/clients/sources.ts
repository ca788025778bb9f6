import { HOST } from '../sidecar.ts'

/** Source of each client: sends one request to the vendor and prints the status, without a proxy setting. */
const url = `https://${HOST}/x`

export const NODE_FETCH = `fetch('${url}').then(async r=>console.log(r.status,await r.text())).catch(e=>{console.error(e);process.exit(1)})`
export const NODE_HTTPS = `require('https').get('${url}',r=>{r.resume();console.log(r.statusCode)}).on('error',e=>{console.error(e);process.exit(1)})`
export const NODE_HTTP2 = `const c=require('http2').connect('https://${HOST}');c.on('error',e=>{console.error(e);process.exit(1)});const s=c.request({':path':'/x'});s.on('response',h=>{console.log(h[':status']);c.close()});s.end()`
export const URLLIB = `import urllib.request;print(urllib.request.urlopen('${url}').status)`
export const REQUESTS = `import requests;print(requests.get('${url}').status_code)`
export const HTTPX = `import httpx;print(httpx.get('${url}').status_code)`
export const AIOHTTP = `import aiohttp,asyncio
async def main():
  async with aiohttp.ClientSession() as session:
    async with session.get('${url}') as reply: print(reply.status)
asyncio.run(main())`
/** The message is arbitrary, because the test is about the transport. */
export const GRPC = `import grpc
channel = grpc.secure_channel('${HOST}:443', grpc.ssl_channel_credentials())
call = channel.unary_unary('/test.Echo/Say', request_serializer=lambda b: b, response_deserializer=lambda b: b)
try:
  print('200' if call(b'hello', timeout=20) == b'hello' else 'another answer')
except grpc.RpcError as error:
  print(error.code().name, error.details())`
export const GO = `package main
import ("fmt";"net/http";"os")
func main(){r,e:=http.Get("${url}");if e!=nil{fmt.Println(e);os.Exit(1)};fmt.Println(r.StatusCode,r.Proto)}`
export const JAVA = `import java.net.URI;import java.net.http.*;
public class Client{public static void main(String[] a)throws Exception{
System.out.println(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("${url}")).build(),HttpResponse.BodyHandlers.ofString()).statusCode());}}`
/** Plain HTTP, because the test is about name resolution of the C library. */
export const C = `#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  struct addrinfo hints = {0}, *all;
  hints.ai_socktype = SOCK_STREAM;
  int failure = getaddrinfo("${HOST}", "80", &hints, &all);
  if (failure) { puts(gai_strerror(failure)); return 1; }
  for (struct addrinfo *one = all; one; one = one->ai_next) {
    int s = socket(one->ai_family, SOCK_STREAM, 0);
    if (connect(s, one->ai_addr, one->ai_addrlen)) { close(s); continue; }
    const char *head = "GET /x HTTP/1.1\\r\\nHost: ${HOST}\\r\\nConnection: close\\r\\n\\r\\n";
    write(s, head, strlen(head));
    char answer[13] = {0};
    read(s, answer, 12);
    puts(answer);
    return 0;
  }
  puts("no address answered");
  return 1;
}`
