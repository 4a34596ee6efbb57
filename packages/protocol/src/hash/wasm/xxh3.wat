;; XXH3-64 (seed 0, default secret) with 128-bit SIMD.
;;
;; Memory, one fixed size so that views on it never detach:
;;      0  secret, 192 bytes
;;    192  eight 64-bit accumulators
;;    256  result of `hash`, u64
;;    512  results of `run`, u64 each, room for 4096
;;  33280  64 bytes of lead-in, then the window that the caller copies input to
(module
  (memory (export "memory") 5 5)
  (data (i32.const 0)
    "\b8\fe\6c\39\23\a4\4b\be\7c\01\81\2c\f7\21\ad\1c\de\d4\6d\e9\83\90\97\db\72\40\a4\a4\b7\b3\67\1f"
    "\cb\79\e6\4e\cc\c0\e5\78\82\5a\d0\7d\cc\ff\72\21\b8\08\46\74\f7\43\24\8e\e0\35\90\e6\81\3a\26\4c"
    "\3c\28\52\bb\91\c3\00\cb\88\d0\65\8b\1b\53\2e\a3\71\64\48\97\a2\0d\f9\4e\38\19\ef\46\a9\de\ac\d8"
    "\a8\fa\76\3f\e3\9c\34\3f\f9\dc\bb\c7\c7\0b\4f\1d\8a\51\e0\4b\cd\b4\59\31\c8\9f\7e\c9\d9\78\73\64"
    "\ea\c5\ac\83\34\d3\eb\c3\c5\81\a0\ff\fa\13\63\eb\17\0d\dd\51\b7\f0\da\49\d3\16\55\26\29\d4\68\9e"
    "\2b\16\be\58\7d\47\a1\fc\8f\f8\b8\d1\7a\d0\31\ce\45\cb\3a\8f\95\16\04\28\af\d7\fb\ca\bb\4b\40\7e")

  ;; The 128-bit product of two words, its halves combined by exclusive or.
  (func $fold (param $a i64) (param $b i64) (result i64)
    (local $al i64) (local $bl i64) (local $ll i64) (local $hl i64) (local $cross i64)
    (local.set $al (i64.and (local.get $a) (i64.const 0xffffffff)))
    (local.set $bl (i64.and (local.get $b) (i64.const 0xffffffff)))
    (local.set $a (i64.shr_u (local.get $a) (i64.const 32)))
    (local.set $b (i64.shr_u (local.get $b) (i64.const 32)))
    (local.set $ll (i64.mul (local.get $al) (local.get $bl)))
    (local.set $hl (i64.mul (local.get $a) (local.get $bl)))
    (local.set $cross
      (i64.add
        (i64.add (i64.shr_u (local.get $ll) (i64.const 32)) (i64.and (local.get $hl) (i64.const 0xffffffff)))
        (i64.mul (local.get $al) (local.get $b))))
    (i64.xor
      (i64.add
        (i64.add (i64.shr_u (local.get $hl) (i64.const 32)) (i64.shr_u (local.get $cross) (i64.const 32)))
        (i64.mul (local.get $a) (local.get $b)))
      (i64.or
        (i64.shl (local.get $cross) (i64.const 32))
        (i64.and (local.get $ll) (i64.const 0xffffffff)))))

  (func $avalanche (param $h i64) (result i64)
    (local.set $h
      (i64.mul
        (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 37)))
        (i64.const 0x165667919e3779f9)))
    (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 32))))

  ;; Final mix of inputs below 4 bytes.
  (func $avalancheTiny (param $h i64) (result i64)
    (local.set $h
      (i64.mul
        (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 33)))
        (i64.const 0xc2b2ae3d27d4eb4f)))
    (local.set $h
      (i64.mul
        (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 29)))
        (i64.const 0x165667b19e3779f9)))
    (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 32))))

  ;; 16 input bytes, mixed with 16 bytes of the secret.
  (func $mix (param $p i32) (param $s i32) (result i64)
    (call $fold
      (i64.xor (i64.load align=1 (local.get $p)) (i64.load align=1 (local.get $s)))
      (i64.xor (i64.load offset=8 align=1 (local.get $p)) (i64.load offset=8 align=1 (local.get $s)))))

  (func $swap (param $x i64) (result i64)
    ;; Bytes of each 16-bit group, then the groups, then the halves.
    (local.set $x
      (i64.or
        (i64.shl (i64.and (local.get $x) (i64.const 0x00ff00ff00ff00ff)) (i64.const 8))
        (i64.and (i64.shr_u (local.get $x) (i64.const 8)) (i64.const 0x00ff00ff00ff00ff))))
    (local.set $x
      (i64.or
        (i64.shl (i64.and (local.get $x) (i64.const 0x0000ffff0000ffff)) (i64.const 16))
        (i64.and (i64.shr_u (local.get $x) (i64.const 16)) (i64.const 0x0000ffff0000ffff))))
    (i64.rotl (local.get $x) (i64.const 32)))

  ;; 0 to 240 bytes.
  (func $short (param $p i32) (param $n i32) (result i64)
    (local $sum i64) (local $x i64) (local $y i64) (local $end i32) (local $i i32)
    (local.set $end (i32.add (local.get $p) (local.get $n)))
    (if (i32.gt_u (local.get $n) (i32.const 16))
      (then
        (local.set $sum (i64.mul (i64.extend_i32_u (local.get $n)) (i64.const 0x9e3779b185ebca87)))
        (if (i32.le_u (local.get $n) (i32.const 128))
          (then
            ;; Pairs from the outside inwards: as many as the length covers.
            (local.set $i (i32.shl (i32.shr_u (i32.sub (local.get $n) (i32.const 1)) (i32.const 5)) (i32.const 4)))
            (loop $pairs
              (local.set $sum
                (i64.add (local.get $sum)
                  (call $mix (i32.add (local.get $p) (local.get $i)) (i32.shl (local.get $i) (i32.const 1)))))
              (local.set $sum
                (i64.add (local.get $sum)
                  (call $mix
                    (i32.sub (i32.sub (local.get $end) (local.get $i)) (i32.const 16))
                    (i32.add (i32.shl (local.get $i) (i32.const 1)) (i32.const 16)))))
              (local.set $i (i32.sub (local.get $i) (i32.const 16)))
              (br_if $pairs (i32.ge_s (local.get $i) (i32.const 0))))
            (return (call $avalanche (local.get $sum)))))
        (loop $first
          (local.set $sum
            (i64.add (local.get $sum) (call $mix (i32.add (local.get $p) (local.get $i)) (local.get $i))))
          (local.set $i (i32.add (local.get $i) (i32.const 16)))
          (br_if $first (i32.lt_u (local.get $i) (i32.const 128))))
        (local.set $sum (call $avalanche (local.get $sum)))
        (block $done
          (loop $rest
            (br_if $done (i32.gt_u (i32.add (local.get $i) (i32.const 16)) (local.get $n)))
            (local.set $sum
              (i64.add (local.get $sum)
                (call $mix
                  (i32.add (local.get $p) (local.get $i))
                  (i32.sub (local.get $i) (i32.const 125)))))
            (local.set $i (i32.add (local.get $i) (i32.const 16)))
            (br $rest)))
        (return
          (call $avalanche
            (i64.add (local.get $sum) (call $mix (i32.sub (local.get $end) (i32.const 16)) (i32.const 119)))))))
    (if (i32.gt_u (local.get $n) (i32.const 8))
      (then
        (local.set $x
          (i64.xor (i64.load align=1 (local.get $p))
            (i64.xor (i64.load (i32.const 24)) (i64.load (i32.const 32)))))
        (local.set $y
          (i64.xor (i64.load align=1 (i32.sub (local.get $end) (i32.const 8)))
            (i64.xor (i64.load (i32.const 40)) (i64.load (i32.const 48)))))
        (return
          (call $avalanche
            (i64.add
              (i64.add (i64.extend_i32_u (local.get $n)) (call $swap (local.get $x)))
              (i64.add (local.get $y) (call $fold (local.get $x) (local.get $y))))))))
    (if (i32.gt_u (local.get $n) (i32.const 3))
      (then
        (local.set $x
          (i64.xor
            (i64.or
              (i64.load32_u align=1 (i32.sub (local.get $end) (i32.const 4)))
              (i64.shl (i64.load32_u align=1 (local.get $p)) (i64.const 32)))
            (i64.xor (i64.load (i32.const 8)) (i64.load (i32.const 16)))))
        (local.set $x
          (i64.mul
            (i64.xor (local.get $x)
              (i64.xor (i64.rotl (local.get $x) (i64.const 49)) (i64.rotl (local.get $x) (i64.const 24))))
            (i64.const 0x9fb21c651e98df25)))
        (local.set $x
          (i64.mul
            (i64.xor (local.get $x)
              (i64.add (i64.shr_u (local.get $x) (i64.const 35)) (i64.extend_i32_u (local.get $n))))
            (i64.const 0x9fb21c651e98df25)))
        (return (i64.xor (local.get $x) (i64.shr_u (local.get $x) (i64.const 28))))))
    (if (local.get $n)
      (then
        (return
          (call $avalancheTiny
            (i64.xor
              (i64.extend_i32_u
                (i32.or
                  (i32.or
                    (i32.shl (i32.load8_u (local.get $p)) (i32.const 16))
                    (i32.shl
                      (i32.load8_u (i32.add (local.get $p) (i32.shr_u (local.get $n) (i32.const 1))))
                      (i32.const 24)))
                  (i32.or
                    (i32.load8_u (i32.sub (local.get $end) (i32.const 1)))
                    (i32.shl (local.get $n) (i32.const 8)))))
              (i64.extend_i32_u (i32.xor (i32.load (i32.const 0)) (i32.load (i32.const 4)))))))))
    (call $avalancheTiny (i64.xor (i64.load (i32.const 56)) (i64.load (i32.const 64)))))

  ;; Adds $count stripes of 64 bytes; the keys of the first start at $s and move on by 8 a stripe.
  (func $stripes (param $p i32) (param $s i32) (param $count i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $in v128) (local $in2 v128) (local $k v128) (local $k2 v128) (local $lo v128) (local $hi v128)
    (local.set $a (v128.load (i32.const 192)))
    (local.set $b (v128.load (i32.const 208)))
    (local.set $c (v128.load (i32.const 224)))
    (local.set $d (v128.load (i32.const 240)))
    (loop $next
      (local.set $in (v128.load align=1 (local.get $p)))
      (local.set $in2 (v128.load offset=16 align=1 (local.get $p)))
      (local.set $k (v128.xor (local.get $in) (v128.load align=1 (local.get $s))))
      (local.set $k2 (v128.xor (local.get $in2) (v128.load offset=16 align=1 (local.get $s))))
      ;; Low and high words of four keys, so that one shuffle serves two products.
      (local.set $lo (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27 (local.get $k) (local.get $k2)))
      (local.set $hi (i8x16.shuffle 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31 (local.get $k) (local.get $k2)))
      (local.set $a
        (i64x2.add
          (i64x2.add (local.get $a)
            (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $in) (local.get $in)))
          (i64x2.extmul_low_i32x4_u (local.get $lo) (local.get $hi))))
      (local.set $b
        (i64x2.add
          (i64x2.add (local.get $b)
            (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $in2) (local.get $in2)))
          (i64x2.extmul_high_i32x4_u (local.get $lo) (local.get $hi))))

      (local.set $in (v128.load offset=32 align=1 (local.get $p)))
      (local.set $in2 (v128.load offset=48 align=1 (local.get $p)))
      (local.set $k (v128.xor (local.get $in) (v128.load offset=32 align=1 (local.get $s))))
      (local.set $k2 (v128.xor (local.get $in2) (v128.load offset=48 align=1 (local.get $s))))
      (local.set $lo (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27 (local.get $k) (local.get $k2)))
      (local.set $hi (i8x16.shuffle 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31 (local.get $k) (local.get $k2)))
      (local.set $c
        (i64x2.add
          (i64x2.add (local.get $c)
            (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $in) (local.get $in)))
          (i64x2.extmul_low_i32x4_u (local.get $lo) (local.get $hi))))
      (local.set $d
        (i64x2.add
          (i64x2.add (local.get $d)
            (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $in2) (local.get $in2)))
          (i64x2.extmul_high_i32x4_u (local.get $lo) (local.get $hi))))

      (local.set $p (i32.add (local.get $p) (i32.const 64)))
      (local.set $s (i32.add (local.get $s) (i32.const 8)))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (v128.store (i32.const 192) (local.get $a))
    (v128.store (i32.const 208) (local.get $b))
    (v128.store (i32.const 224) (local.get $c))
    (v128.store (i32.const 240) (local.get $d)))

  ;; Scrambles one pair of accumulators with its key: multiplied by a 32-bit prime, modulo 2^64.
  (func $scramblePair (param $acc i32) (param $key i32)
    (local $x v128)
    (local.set $x (v128.load (local.get $acc)))
    (v128.store (local.get $acc)
      (i64x2.mul
        (v128.xor
          (v128.xor (local.get $x) (i64x2.shr_u (local.get $x) (i32.const 47)))
          (v128.load align=1 (local.get $key)))
        (v128.const i64x2 0x9e3779b1 0x9e3779b1))))

  ;; Adds $count blocks of 1024 bytes to the accumulators.
  (func $blocks (export "blocks") (param $p i32) (param $count i32)
    (loop $next
      (call $stripes (local.get $p) (i32.const 0) (i32.const 16))
      (call $scramblePair (i32.const 192) (i32.const 128))
      (call $scramblePair (i32.const 208) (i32.const 144))
      (call $scramblePair (i32.const 224) (i32.const 160))
      (call $scramblePair (i32.const 240) (i32.const 176))
      (local.set $p (i32.add (local.get $p) (i32.const 1024)))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1))))))

  ;; One pair of accumulators, folded with the secret.
  (func $mergePair (param $acc i32) (param $s i32) (result i64)
    (call $fold
      (i64.xor (i64.load (local.get $acc)) (i64.load align=1 (local.get $s)))
      (i64.xor (i64.load offset=8 (local.get $acc)) (i64.load offset=8 align=1 (local.get $s)))))

  ;; More than 240 bytes.
  (func $long (param $p i32) (param $n i32) (result i64)
    (local $count i32) (local $rest i32) (local $left i32)
    (v128.store (i32.const 192) (v128.const i64x2 0x00000000c2b2ae3d 0x9e3779b185ebca87))
    (v128.store (i32.const 208) (v128.const i64x2 0xc2b2ae3d27d4eb4f 0x165667b19e3779f9))
    (v128.store (i32.const 224) (v128.const i64x2 0x85ebca77c2b2ae63 0x0000000085ebca77))
    (v128.store (i32.const 240) (v128.const i64x2 0x27d4eb2f165667c5 0x000000009e3779b1))
    (local.set $count (i32.shr_u (i32.sub (local.get $n) (i32.const 1)) (i32.const 10)))
    (if (local.get $count) (then (call $blocks (local.get $p) (local.get $count))))
    (local.set $rest (i32.add (local.get $p) (i32.shl (local.get $count) (i32.const 10))))
    (local.set $left
      (i32.shr_u
        (i32.and (i32.sub (local.get $n) (i32.const 1)) (i32.const 1023))
        (i32.const 6)))
    (if (local.get $left) (then (call $stripes (local.get $rest) (i32.const 0) (local.get $left))))
    (call $stripes
      (i32.sub (i32.add (local.get $p) (local.get $n)) (i32.const 64))
      (i32.const 121)
      (i32.const 1))
    (call $avalanche
      (i64.add
        (i64.add
          (i64.mul (i64.extend_i32_u (local.get $n)) (i64.const 0x9e3779b185ebca87))
          (call $mergePair (i32.const 192) (i32.const 11)))
        (i64.add
          (i64.add
            (call $mergePair (i32.const 208) (i32.const 27))
            (call $mergePair (i32.const 224) (i32.const 43)))
          (call $mergePair (i32.const 240) (i32.const 59))))))

  (func $any (param $p i32) (param $n i32) (result i64)
    (if (result i64) (i32.gt_u (local.get $n) (i32.const 240))
      (then (call $long (local.get $p) (local.get $n)))
      (else (call $short (local.get $p) (local.get $n)))))

  ;; Hashes $n bytes at $p; the result goes to 256.
  (func (export "hash") (param $p i32) (param $n i32)
    (i64.store (i32.const 256) (call $any (local.get $p) (local.get $n))))

  ;; Hashes message frames that lie back to back in $p..$end: each from its byte 8 to its end, which its header tells
  ;; (48 + u32 at 32 + u32 at 36). Stops at a frame that is not whole, or after 4096. Returns how many it took.
  (func (export "run") (param $p i32) (param $end i32) (result i32)
    (local $size i64) (local $count i32)
    (loop $next
      (if (i32.gt_u (i32.add (local.get $p) (i32.const 48)) (local.get $end)) (then (return (local.get $count))))
      (local.set $size
        (i64.add
          (i64.const 48)
          (i64.add
            (i64.load32_u offset=32 align=1 (local.get $p))
            (i64.load32_u offset=36 align=1 (local.get $p)))))
      (if (i64.gt_u (local.get $size) (i64.extend_i32_u (i32.sub (local.get $end) (local.get $p))))
        (then (return (local.get $count))))
      (i64.store offset=512 (i32.shl (local.get $count) (i32.const 3))
        (call $any
          (i32.add (local.get $p) (i32.const 8))
          (i32.sub (i32.wrap_i64 (local.get $size)) (i32.const 8))))
      (local.set $p (i32.add (local.get $p) (i32.wrap_i64 (local.get $size))))
      (br_if $next (i32.lt_u (local.tee $count (i32.add (local.get $count) (i32.const 1))) (i32.const 4096))))
    (local.get $count)))
