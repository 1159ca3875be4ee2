"""Prototype of the verdicts: names of pools in answers, by first sentence."""
import csv, re, sys, time, collections, unicodedata, functools
import numpy as np
from polyprobe.builder.objects.lemmatizers import Word, fold_word, WORD, read_runs
from polyprobe.builder.objects.similarity import compare_words
from anyascii import anyascii
from babel import Locale
B='/tmp/o/x-fakt-answers/results/factual_recall'
LANGS=dict(English='en',Hindi='hi',Chinese='zh',Russian='ru',Arabic='ar',French='fr',Nepali='ne',Japanese='ja',Ukrainian='uk',Greek='el',Turkish='tr',Swahili='sw',Thai='th')
CODES=dict(zip('United States,India,China,Russia,Saudi Arabia,France,Japan,Kenya,Thailand,Nepal,Ukraine,Greece,Turkey'.split(','),'US IN CN RU SA FR JP KE TH NP UA GR TR'.split()))
UNSEG=re.compile('[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]')
INVARIANT={'bo','ja','km','lo','my','th','vi','yue','zh'}
def load(model,lang):
    return list(csv.DictReader(open(f'{B}/{model}/without_system_prompt/{lang}.csv')))
def gold_names():
    out=collections.defaultdict(lambda: collections.defaultdict(list))
    en=load('gemma-2-9b-it','English')
    for L,l in LANGS.items():
        loc=Locale.parse(l); t=loc.territories
        for r,e in zip(load('gemma-2-9b-it',L),en):
            q=CODES[e['answers']]
            if r['answers'] not in out[q][l]: out[q][l].append(r['answers'])
        for q in CODES.values():
            for k in (q,q+'-alt-short',q+'-alt-variant'):
                n=t.get(k)
                if n and n not in out[q][l]: out[q][l].append(n)
    Q=dict(zip('Q30 Q668 Q148 Q159 Q851 Q142 Q17 Q114 Q869 Q837 Q212 Q41 Q43'.split(),'US IN CN RU SA FR JP KE TH NP UA GR TR'.split()))
    for r in csv.DictReader(open('/work/tools/names.csv')):
        for l,v in r.items():
            if l!='entity': out[Q[r['entity']]][l]+= [x for x in v.split(';') if x not in out[Q[r['entity']]][l]]
    return out
def cldr_alts(l):
    # babel drops alt forms; short names by hand from CLDR (alt="short")
    return {}
ROMAN=True
PRE=6
POST=set('मा को का की ले लाई बाट देखि सँग में से ने'.split())
REF=False
@functools.lru_cache(1<<18)
def roman_text(t):
    return fold_word(anyascii(t))
def roman(w):
    f=roman_text(w.form) or w.form; return Word(w.start,w.end,f,f)
CLITIC=re.compile(r"^(?:\w{1,2}|qu|dell|nell|all)['’](?=\w{2})")
def cut(words):
    out=[]
    for w in words:
        m=CLITIC.match(w.form)
        out.append(Word(w.start+m.end(),w.end,w.form[m.end():],w.lemma[m.end():]) if m else w)
    return out
ME=re.compile(r"-\w{1,3}|['’]\w{1,8}")
class Index:
    def __init__(self,pool,asked,order):
        # pool {entity:{lang:[names]}}
        self.words=collections.defaultdict(list); self.roman=collections.defaultdict(list); self.chars={}
        self.asked=asked
        for lang in sorted(order,key=lambda x:(x!=asked,x!='en')):
            for ent,names in pool.items():
                for name in names.get(lang,[]):
                    if UNSEG.search(name):
                        self.chars.setdefault(fold_word(name),(ent,lang))
                        continue
                    [ws]=read_runs([name])
                    if not ws: continue
                    infl=lang not in INVARIANT and lang==asked
                    self.words[ws[0].form[:2]].append((ent,lang,tuple(ws),infl,name))
                    if ROMAN:
                        rs=tuple(roman(w) for w in ws)
                        if all(len(r.form)>3 for r in rs): self.roman[rs[0].form[:2]].append((ent,lang,rs,infl,name))
        names=sorted(self.chars,key=len,reverse=True)
        self.regex=re.compile('|'.join(map(re.escape,names))) if names else None
    def find(self,text):
        spans=[]
        if self.regex is not None and UNSEG.search(text):
            low=text.casefold()
            if len(low)==len(text):
                for m in self.regex.finditer(low):
                    ent,lang=self.chars[m[0]]
                    spans.append((m.start(),m.end(),100.0,ent,lang))
        words=cut(read_runs([text])[0])
        self.search(text,words,self.words,spans,0)
        if ROMAN:
            self.search(text,[roman(w) for w in words],self.roman,spans,10)
        return self.best(spans)
    def search(self,text,words,table,spans,cost):
        for p,w in enumerate(words):
            keys={w.form[:2]}
            if w.form[0] in 'אבגדהוזחטיכלמנסעפצקרשתابتثجحخدذرزسشصضطظعغفقكلمنهويپچژگکی':
                keys|={w.form[1:3],w.form[2:4]}
            for key in keys:
                for ent,lang,ws,infl,name in table.get(key,()):
                    if p+len(ws)>len(words): continue
                    run=words[p:p+len(ws)]
                    sc=0;tot=0
                    for a,b in zip(run,ws):
                        c=compare_words(a,b,infl) if len(b.form)>3 or infl else 100.0*(a.form==b.form)
                        if c<95 and a.form.startswith(b.form) and a.form[len(b.form):] in POST: c=95.0
                        if c<95 and not infl and a.form.startswith(b.form) and (ME.fullmatch(a.form,len(b.form)) or len(b.form)>=PRE and len(a.form)-len(b.form)<=3): c=95.0
                        if c<60: break
                        sc+=c*len(b.form);tot+=len(b.form)
                    else:
                        sc/=tot
                        sc-=cost
                        if sc>=80:
                            if len(name)<=3 and text[run[0].start:run[-1].end]!=name and len(ws)==1 and lang!=self.asked: continue
                            spans.append((run[0].start,run[-1].end,sc,ent,lang))
    def best(self,spans):
        spans.sort(key=lambda s:(-(s[1]-s[0]),-s[2],s[4]!=self.asked,s[4]!='en'))
        kept=[]
        for s in spans:
            if all(s[1]<=k[0] or s[0]>=k[1] for k in kept): kept.append(s)
        return sorted(kept)
SENT=re.compile(r'(?<=[.!?…])\s+|[。！？।॥]\s*|\n+|(?<=\S)\s{2,}')
def sentences(text):
    start=0
    for m in SENT.finditer(text):
        yield start,m.start(); start=m.end()
    yield start,len(text)
TAG=re.compile(r'<[^<>]{0,200}>')
REFUSAL=re.compile(r"\b(?:i['’]?m sorry|i am sorry|i apologi[sz]e|i can ?not|i can['’]t|i could ?n[o'’]t|unable to (?:provide|answer|find|understand)|i do(?:n['’]t| not) (?:know|have|understand))\b|samahani|sijui|je ne (?:sais|connais)|je n['’]ai (?:pas|trouv)|je suis désolé|не знаю|не могу|не знайшов|не можу|извините|вибачте|लिए खेद|क्षमा|माफ़|抱歉|无法|不知道|申し訳|わかりません|分かりません|ขออภัย|ไม่ทราบ|آسف|لا أعرف|لا أستطيع|لا يمكنني|δεν γνωρίζω|δεν μπορώ|λυπάμαι|bilmiyorum|üzgünüm|maalesef|माफ गर्नुहोस्|थाहा छैन",re.I)
def around(text,s,e):
    l=WORD.findall(text[max(0,s-40):s]); r=WORD.findall(text[e:e+40])
    return (fold_word(l[-1]) if l else None, fold_word(r[0]) if r else None)
def verdict(index,answer,question):
    text=unicodedata.normalize('NFC',answer)
    q=unicodedata.normalize('NFC',question)
    echoes=[(fold_word(q[s[0]:s[1]]),s[2],around(q,s[0],s[1])) for s in index.find(q)]
    def echo(part,s):
        f=fold_word(part[s[0]:s[1]])
        for g,score,(l,r) in echoes:
            if f==g:
                a,b=around(part,s[0],s[1])
                if score<100 or (a and a==l) or (b and b==r): return True
        return False
    for a,b in sentences(text):
        part=text[a:b]
        rest=[s for s in index.find(part) if not echo(part,s)]
        if rest: return rest
    return []
def kappa(a,b):
    a=np.array(a);b=np.array(b);po=(a==b).mean();pe=a.mean()*b.mean()+(1-a.mean())*(1-b.mean())
    return (po-pe)/(1-pe)
RULE='any'
if __name__=='__main__':
    import os
    models=sorted(os.listdir(B)); pool=gold_names()
    tot=[];t0=time.time();n=0;out=[]
    for L,l in LANGS.items():
        idx=Index(pool,l,LANGS.values()); J=[];O=[];C=[];lang_ok=[]
        en=load(models[0],'English')
        for m in models:
            for r,e in zip(load(m,L),en):
                n+=1
                rating=re.findall(r'\[\[?(\d)\]?\]',r['llm_output'] or '')
                j=int(rating[-1]) if rating else 4
                right='[4]' not in (r['llm_output'] or '')
                g=CODES[e['answers']]
                spans=verdict(idx,r['Predicted'] or '',r['Question'])
                ents=[s[3] for s in spans]
                ok=bool(ents) and ents[-1]==g if RULE=='last' else bool(ents) and ents[0]==g if RULE=='first' else g in ents
                J.append(right);O.append(ok);C.append(r['answers'] in (r['Predicted'] or ''))
                if ok and right and j in(1,2,3):
                    s=[s for s in spans if s[3]==g][0]
                    lang_ok.append((j==1)==(s[4]==l))
                if ok!=right: out.append((l,m,right,g,ents,r['Question'],r['answers'],r['Predicted'],(r['llm_output'] or '')[-60:]))
        k=kappa(J,O);tot.append(k)
        print(l,'kappa %.3f contains %.3f  ours only %d judge only %d lang %.3f'%(k,kappa(J,C),sum(o and not j for o,j in zip(O,J)),sum(j and not o for o,j in zip(O,J)),np.mean(lang_ok)))
    print('mean',np.mean(tot),'time',time.time()-t0,n)
    import json
    with open('/tmp/dis.jsonl','w') as f:
        for x in out: f.write(json.dumps(x,ensure_ascii=False)+'\n')
